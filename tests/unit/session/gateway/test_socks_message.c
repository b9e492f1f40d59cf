/* The greeting and the request of SOCKS5: whole, short by every length, and malformed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/socks_message.h"
#include "policy/egress.h"
#include "tests/unit/guard_page.h"

struct bytes {
	const char *data;
	size_t len;
};
#define BYTES(text)                                                                                                    \
	{                                                                                                              \
		text, sizeof(text) - 1                                                                                 \
	}

static ssize_t greeting(const void *data, size_t len, bool *ret_plain)
{
	struct guard_page g = guard_page_new(data, len);
	ssize_t n = socks_message_greeting((const uint8_t *)g.data, len, ret_plain);

	guard_page_done(&g);
	return n;
}

/* The name is checked here, while its bytes are there. */
static ssize_t request(const void *data, size_t len, struct socks_request *ret, const char *name)
{
	struct guard_page g = guard_page_new(data, len);
	ssize_t n = socks_message_request((const uint8_t *)g.data, len, ret);

	if (n > 0 && name) {
		assert_int_equal(ret->name_len, strlen(name));
		assert_memory_equal(ret->name, name, strlen(name));
	}
	guard_page_done(&g);
	return n;
}

static void greetings(void **state)
{
	static const struct {
		struct bytes sent;
		ssize_t used;
		bool plain;
	} cases[] = {
		{ BYTES("\5\1\0"), 3, true },
		{ BYTES("\5\2\2\0"), 4, true },
		{ BYTES("\5\3\0\1\2more"), 5, true },
		{ BYTES("\5\1\2"), 3, false },
		{ BYTES("\5\2\1\2"), 4, false },
		{ BYTES("\5\0"), -EBADMSG, false },
		{ BYTES("\4\1\0"), -EBADMSG, false },
		{ BYTES("G"), -EBADMSG, false },
		{ BYTES(""), 0, false },
	};
	uint8_t most[2 + 255] = { 5, 255 };
	bool plain;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		plain = false;
		assert_int_equal(greeting(cases[i].sent.data, cases[i].sent.len, &plain), cases[i].used);
		assert_int_equal(plain, cases[i].plain);
		for (ssize_t n = 0; n < cases[i].used; n++)
			assert_int_equal(greeting(cases[i].sent.data, (size_t)n, &plain), 0);
	}
	memset(most + 2, 1, 254);
	for (size_t n = 0; n < sizeof(most); n++)
		assert_int_equal(greeting(most, n, &plain), 0);
	assert_int_equal(greeting(most, sizeof(most), &plain), sizeof(most));
	assert_true(plain);
}

static void requests(void **state)
{
	static const struct {
		struct bytes sent;
		uint8_t command, family;
		uint16_t port;
		const char *name;
	} cases[] = {
		{ BYTES("\5\1\0\1\177\0\0\1\0\120"), SOCKS_CONNECT, AF_INET, 80, NULL },
		{ BYTES("\5\1\0\3\12ok.example\1\273"), SOCKS_CONNECT, 0, 443, "ok.example" },
		{ BYTES("\5\1\0\3\1a\0\0"), SOCKS_CONNECT, 0, 0, "a" },
		{ BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\377\377"), SOCKS_CONNECT, AF_INET6, 65535, NULL },
		{ BYTES("\5\3\0\1\0\0\0\0\0\0"), SOCKS_UDP, AF_INET, 0, NULL },
		{ BYTES("\5\377\0\3\2\n\n\0\1"), 255, 0, 1, "\n\n" },
	};
	struct socks_request q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = cases[i].sent.len;

		assert_int_equal(request(cases[i].sent.data, len, &q, cases[i].name), len);
		assert_int_equal(q.command, cases[i].command);
		assert_int_equal(q.family, cases[i].family);
		assert_int_equal(q.port, cases[i].port);
		for (size_t n = 0; n < len; n++)
			assert_int_equal(request(cases[i].sent.data, n, &q, NULL), 0);
	}
	assert_int_equal(request("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\377\377", 22, &q, NULL), 22);
	assert_memory_equal(q.address, ((uint8_t[16]){ [15] = 1 }), 16);
}

static void malformed(void **state)
{
	static const struct {
		struct bytes sent;
		ssize_t result;
	} cases[] = {
		{ BYTES("\4\1"), -EBADMSG },
		{ BYTES("\5\0\0\1\1"), -EBADMSG },
		{ BYTES("\5\1\1"), -EBADMSG },
		{ BYTES("\5\1\0\3\0"), -EBADMSG },
		{ BYTES("\5\1\0\0\0"), -EAFNOSUPPORT },
		{ BYTES("\5\1\0\2\0"), -EAFNOSUPPORT },
		{ BYTES("\5\1\0\5\0"), -EAFNOSUPPORT },
		{ BYTES("\5\1\0\377\0"), -EAFNOSUPPORT },
	};
	uint8_t longest[4 + 1 + 255 + 2] = { 5, 1, 0, 3, 255 };
	struct socks_request q;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(request(cases[i].sent.data, cases[i].sent.len, &q, NULL), cases[i].result);
	for (size_t n = 5; n < sizeof(longest); n++)
		assert_int_equal(request(longest, n, &q, NULL), 0);
	assert_int_equal(request(longest, sizeof(longest), &q, NULL), sizeof(longest));
	assert_int_equal(q.name_len, 255);
}

static void codes(void **state)
{
	(void)state;
	for (uint32_t i = EGRESS_ALLOWED + 1; i < EGRESS_REASON_COUNT; i++)
		assert_int_not_equal(socks_message_code(i, 0), SOCKS_GRANTED);
	assert_int_equal(socks_message_code(EGRESS_NOT_LISTED, 0), SOCKS_NOT_ALLOWED);
	assert_int_equal(socks_message_code(EGRESS_PRIVATE_ADDRESS, ECONNREFUSED), SOCKS_NOT_ALLOWED);
	assert_int_equal(socks_message_code(EGRESS_UNRESOLVED, 0), SOCKS_HOST_UNREACHABLE);
	assert_int_equal(socks_message_code(EGRESS_UNREACHABLE, ECONNREFUSED), SOCKS_REFUSED);
	assert_int_equal(socks_message_code(EGRESS_UNREACHABLE, ENETUNREACH), SOCKS_NETWORK_UNREACHABLE);
	assert_int_equal(socks_message_code(EGRESS_UNREACHABLE, 0), SOCKS_HOST_UNREACHABLE);
	assert_int_equal(socks_message_code(EGRESS_LIMIT, 0), SOCKS_FAILURE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(greetings),
		cmocka_unit_test(requests),
		cmocka_unit_test(malformed),
		cmocka_unit_test(codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
