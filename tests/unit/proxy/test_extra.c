/* EGRESS_ALLOW_EXTRA as a policy. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/proxy/proxy_extra.h"

static void lists(void **state)
{
	static const struct {
		const char *list;
		const char *hosts; /* of the array */
	} cases[] = {
		{ "", "" },
		{ " ,, \t\r\n,", "" },
		{ "a.example", "\"a.example\"" },
		{ " a.example, b.example:443 c.example,,", "\"a.example\",\"b.example:443\",\"c.example\"" },
		{ ".internal.corp", "\"*.internal.corp\"" },
		{ "*.internal.corp", "\"*.internal.corp\"" },
		{ ".", "\"*.\"" },
		{ "a\"],\"b", "\"a\\\"]\",\"\\\"b\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buffer_ struct buffer got = BUFFER_INIT(LIMIT_POLICY_FILE);
		char wanted[256];

		snprintf(wanted, sizeof(wanted), "{\"sandbox\":{\"network\":{\"allowedDomains\":[%s]}}}",
			 cases[i].hosts);
		assert_int_equal(proxy_extra_policy(cases[i].list, &got), 0);
		assert_int_equal(buffer_append_u8(&got, 0), 0);
		assert_string_equal(got.data, wanted);
	}
}

static void too_long(void **state)
{
	_cleanup_buffer_ struct buffer got = BUFFER_INIT(64);

	assert_int_equal(proxy_extra_policy("a.example,b.example,c.example,d.example", &got), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lists), cmocka_unit_test(too_long) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
