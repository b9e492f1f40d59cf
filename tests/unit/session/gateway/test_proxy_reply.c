/* What upstream proxies answer to CONNECT: where the head ends, what it means, and what is no answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/proxy_reply.h"
#include "policy/egress.h"
#include "tests/unit/guard_page.h"

static ssize_t parse(const char *data, size_t len, uint16_t *ret_status)
{
	struct guard_page g = guard_page_new(data, len);
	ssize_t n = proxy_reply_parse(g.data, len, ret_status);

	guard_page_done(&g);
	return n;
}

#define OK "HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"

static void whole(void **state)
{
	static const struct {
		const char *head;
		uint16_t status;
	} cases[] = {
		{ OK, 200 },
		{ "HTTP/1.0 200\r\n\r\n", 200 },
		{ "HTTP/1.1 100 Continue\r\n\r\n" OK, 200 },
		{ "HTTP/1.1 102 x\r\nA: b\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 407 No\r\nContent-Length: 9\r\n\r\n",
		  407 },
	};
	char with_more[512];
	uint16_t status;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].head);

		for (size_t n = 0; n < len; n++)
			assert_int_equal(parse(cases[i].head, n, &status), 0);
		/* The host's own bytes are not looked at, whatever they are. */
		memcpy(with_more, cases[i].head, len);
		memcpy(with_more + len, "HTTP/9\0\r\n", 9);
		assert_int_equal(parse(with_more, len + 9, &status), len);
		assert_int_equal(status, cases[i].status);
	}
}

static void malformed(void **state)
{
	static const char *const cases[] = {
		"220 smtp ready\r\n", "HTTP/2 200\r\n\r\n",     "HTTP/1.1 2000 x\r\n\r\n",      "HTTP/1.1 200 x\n\n",
		"\x16\x03\x01",       "HTTP/1.1 101 x\r\n\r\n", "HTTP/1.1 200 x\r\n a\r\n\r\n",
	};
	static char large[PROXY_REPLY_MAX + 1];
	uint16_t status;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (parse(cases[i], strlen(cases[i]), &status) != -EBADMSG)
			fail_msg("%s", cases[i]);
	memset(large, 'x', sizeof(large));
	memcpy(large, "HTTP/1.1 200 x\r\nA: ", 19);
	assert_int_equal(parse(large, PROXY_REPLY_MAX - 1, &status), 0);
	assert_int_equal(parse(large, PROXY_REPLY_MAX, &status), -EMSGSIZE);
	assert_int_equal(parse(large, PROXY_REPLY_MAX + 1, &status), -EMSGSIZE);
}

static void meaning(void **state)
{
	static const struct {
		uint16_t status;
		uint32_t reason;
	} cases[] = {
		{ 200, EGRESS_ALLOWED },       { 299, EGRESS_ALLOWED },       { 302, EGRESS_PROXY_REFUSED },
		{ 400, EGRESS_PROXY_REFUSED }, { 403, EGRESS_PROXY_REFUSED }, { 405, EGRESS_PROXY_REFUSED },
		{ 401, EGRESS_PROXY_AUTH },    { 407, EGRESS_PROXY_AUTH },    { 500, EGRESS_PROXY_UNREACHABLE },
		{ 502, EGRESS_UNREACHABLE },   { 504, EGRESS_UNREACHABLE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(proxy_reply_reason(cases[i].status), cases[i].reason);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(malformed),
		cmocka_unit_test(meaning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
