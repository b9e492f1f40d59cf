#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/escape.h"

static void check(const char *text, size_t len, const char *expected)
{
	struct buffer out = BUFFER_INIT(4096);

	assert_int_equal(escape_append(&out, text, len), 0);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
	buffer_done(&out);
}

#define CHECK(text, expected) check(text, sizeof(text) - 1, expected)

static void test_text_stays(void **state)
{
	CHECK("", "");
	CHECK("plain \\ text", "plain \\ text");
	CHECK("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
}

static void test_controls(void **state)
{
	CHECK("a\x1b[2J\n\t\r", "a\\x1b[2J\\n\\t\\r");
	CHECK("\0\x7f", "\\x00\\x7f");
	CHECK("\xc2\x9b"
	      "31m",
	      "\\x9b31m"); /* C1 CSI */
	CHECK("\xe2\x80\xae", "\\u{202e}");
	CHECK("\xe2\x81\xa6x\xe2\x80\xa8", "\\u{2066}x\\u{2028}");
	CHECK("\xef\xbb\xbf", "\\u{feff}");
}

static void test_bytes(void **state)
{
	CHECK("\xff\xfe", "\\xff\\xfe");
	CHECK("\xc0\xaf", "\\xc0\\xaf"); /* overlong */
	CHECK("\xe0\x80\x80", "\\xe0\\x80\\x80");
	CHECK("\xc3", "\\xc3"); /* cut */
	CHECK("\xe2\x82x", "\\xe2\\x82x");
	CHECK("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond Unicode */
	CHECK("\xed\xb2\x80\xed\xb3\xbf", "\\x80\\xff");   /* the tree form of bytes */
	CHECK("\xed\xa0\x80", "\\u{d800}");
}

static void test_bound(void **state)
{
	struct buffer out = BUFFER_INIT(3);

	assert_true(escape_append(&out, "\x01", 1) < 0);
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_stays),
		cmocka_unit_test(test_controls),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
