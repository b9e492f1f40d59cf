#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/http_body.h"

static ssize_t feed_all(const char *data, size_t len, size_t step, bool *ret_done)
{
	struct http_body b;
	size_t used = 0;

	http_body_init(&b, HTTP_BODY_CHUNKED, 0);
	while (used < len && !b.done) {
		size_t n = len - used < step ? len - used : step;
		/* A block of its own, so that a read past its end is found. */
		char *copy = malloc(n);
		ssize_t r;

		memcpy(copy, data + used, n);
		r = http_body_feed(&b, copy, n);
		free(copy);
		if (r < 0)
			return r;
		used += (size_t)r;
	}
	*ret_done = b.done;
	return (ssize_t)used;
}

static void test_chunked(void **state)
{
	static const char *const good[] = {
		"0\r\n\r\n",
		"5\r\nhello\r\n0\r\n\r\n",
		"00005\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n",
		"5;ext=\"a b\";x\r\nhello\r\n0;last\r\n\r\n",
		"0\r\nX-Sum: 1\r\nY:\r\n\r\n",
	};
	static char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		for (size_t step = 1; step < 64; step++) {
			size_t len = strlen(good[i]);
			bool done = false;

			memcpy(text, good[i], len);
			memcpy(text + len, "GET / HTTP", 10);
			assert_int_equal(feed_all(text, len + 10, step, &done), len);
			assert_true(done);
			done = true;
			assert_int_equal(feed_all(text, len - 1, step, &done), len - 1);
			assert_false(done);
		}
}

static void test_bad_chunks(void **state)
{
	static const char *const bad[] = {
		"-5\r\nhello\r\n",       "+5\r\nhello\r\n", "0x5\r\nhello\r\n",
		" 5\r\nhello\r\n",       "5 \r\nhello\r\n", "5\nhello\r\n",
		"5\rhello\r\n",          "\r\nhello",       ";x\r\n",
		"5\r\nhelloX\n",         "5\r\nhello\n",    "5\r\nhello0\r\n\r\n",
		"5;\x01\r\nhello\r\n",   "5;a\nhello\r\n",  "1ffffffffffffffff\r\n",
		"fffffffffffffffff\r\n", "0\r\n\n",         "0\r\n X: 1\r\n\r\n",
		"0\r\nX : 1\r\n\r\n",    "0\r\nX\r\n\r\n",  "0\r\n: 1\r\n\r\n",
		"0\r\nX: 1\n\r\n",       "0\r\n\rX",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (size_t step = 1; step < 20; step += 6) {
			bool done;
			ssize_t r = feed_all(bad[i], strlen(bad[i]), step, &done);

			if (r != -EBADMSG)
				fail_msg("taken: %s", bad[i]);
		}
}

static void test_bounds(void **state)
{
	static char text[70000];
	bool done;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "5;", 2);
	assert_int_equal(feed_all(text, sizeof(text), 4096, &done), -EBADMSG);
	memset(text, '0', sizeof(text));
	assert_int_equal(feed_all(text, sizeof(text), 4096, &done), -EBADMSG);
	memset(text, 'x', sizeof(text));
	memcpy(text, "0\r\nX:", 5);
	assert_int_equal(feed_all(text, sizeof(text), 4096, &done), -EBADMSG);
	memcpy(text, "0\r\n", 3);
	for (size_t i = 3; i + 5 < sizeof(text); i += 5)
		memcpy(text + i, "A:b\r\n", 5);
	assert_int_equal(feed_all(text, sizeof(text), 4096, &done), -EBADMSG);
}

static void test_length(void **state)
{
	struct http_body b;

	(void)state;
	http_body_init(&b, HTTP_BODY_LENGTH, 0);
	assert_true(b.done);
	http_body_init(&b, HTTP_BODY_NONE, 5);
	assert_true(b.done);
	assert_int_equal(http_body_feed(&b, "abc", 3), 0);
	http_body_init(&b, HTTP_BODY_LENGTH, 10);
	assert_int_equal(http_body_feed(&b, "abc", 3), 3);
	assert_false(b.done);
	http_body_skip(&b, 5);
	assert_int_equal(http_body_feed(&b, "abc", 3), 2);
	assert_true(b.done);
	http_body_init(&b, HTTP_BODY_CLOSE, 0);
	assert_int_equal(http_body_feed(&b, "abc", 3), 3);
	assert_false(b.done);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chunked),
		cmocka_unit_test(test_bad_chunks),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
