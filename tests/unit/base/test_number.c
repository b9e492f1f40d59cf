/* Strict numbers: every form that atoi would take and we must not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/number.h"

#define UNTOUCHED 0x1234567890abcdefULL

static void test_u64(void **state)
{
	static const struct {
		const char *text;
		uint64_t max;
		int r;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 0, 0 },
		{ "007", 7, 0, 7 },
		{ "18446744073709551615", UINT64_MAX, 0, UINT64_MAX },
		{ "18446744073709551616", UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999", UINT64_MAX, -ERANGE, 0 },
		{ "8", 7, -ERANGE, 0 },
		{ "", 7, -EINVAL, 0 },
		{ " 1", 7, -EINVAL, 0 },
		{ "1 ", 7, -EINVAL, 0 },
		{ "+1", 7, -EINVAL, 0 },
		{ "-1", 7, -EINVAL, 0 },
		{ "0x1", 7, -EINVAL, 0 },
		{ "1e2", 700, -EINVAL, 0 },
		{ "1.0", 7, -EINVAL, 0 },
		{ "\xd9\xa1", 7, -EINVAL, 0 }, /* an Arabic 1 */
		{ "1\n", 7, -EINVAL, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t value = UNTOUCHED;

		assert_int_equal(number_parse_u64(cases[i].text, cases[i].max, &value), cases[i].r);
		assert_true(value == (cases[i].r == 0 ? cases[i].value : UNTOUCHED));
	}
}

static void test_bytes(void **state)
{
	uint64_t value = UNTOUCHED;

	assert_int_equal(number_parse_bytes_u64("123456", 3, 999, &value), 0);
	assert_true(value == 123);
	assert_int_equal(number_parse_bytes_u64("12\0", 3, 999, &value), -EINVAL);
	assert_int_equal(number_parse_bytes_u64("1", 0, 999, &value), -EINVAL);
	assert_true(value == 123);
}

static void test_port(void **state)
{
	uint16_t port = 9;

	assert_int_equal(number_parse_port("65535", 5, &port), 0);
	assert_int_equal(port, 65535);
	assert_int_equal(number_parse_port("1x", 1, &port), 0);
	assert_int_equal(port, 1);
	assert_int_equal(number_parse_port("0", 1, &port), -ERANGE);
	assert_int_equal(number_parse_port("65536", 5, &port), -ERANGE);
	assert_int_equal(number_parse_port("", 0, &port), -EINVAL);
	assert_int_equal(number_parse_port("http", 4, &port), -EINVAL);
	assert_int_equal(port, 1);
}

struct unit_case {
	const char *text;
	int r;
	uint64_t value;
};

static void check_units(int (*parse)(const char *, uint64_t *), const struct unit_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;

		if (parse(cases[i].text, &value) != cases[i].r)
			fail_msg("%s", cases[i].text);
		assert_true(value == (cases[i].r == 0 ? cases[i].value : UNTOUCHED));
	}
}

static void test_size(void **state)
{
	static const struct unit_case cases[] = {
		{ "0", 0, 0 },
		{ "1024", 0, 1024 },
		{ "64k", 0, 65536 },
		{ "64K", 0, 65536 },
		{ "8G", 0, 8ULL << 30 },
		{ "1m", 0, 1 << 20 },
		{ "16777215T", 0, 16777215ULL << 40 },
		{ "16777216T", -ERANGE, 0 },
		{ "G", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "1GB", -EINVAL, 0 },
		{ "1 G", -EINVAL, 0 },
		{ "1.5G", -EINVAL, 0 },
		{ "-1G", -EINVAL, 0 },
		{ "1h", -EINVAL, 0 },
	};

	check_units(number_parse_size, cases, sizeof(cases) / sizeof(cases[0]));
}

static void test_duration(void **state)
{
	static const struct unit_case cases[] = {
		{ "90", 0, 90 },      { "45s", 0, 45 },     { "30m", 0, 1800 },
		{ "12h", 0, 43200 },  { "2d", 0, 172800 },  { "18446744073709551615d", -ERANGE, 0 },
		{ "h", -EINVAL, 0 },  { "1H", -EINVAL, 0 }, { "1h30m", -EINVAL, 0 },
		{ "1w", -EINVAL, 0 },
	};

	check_units(number_parse_duration, cases, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_u64),  cmocka_unit_test(test_bytes),    cmocka_unit_test(test_port),
		cmocka_unit_test(test_size), cmocka_unit_test(test_duration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
