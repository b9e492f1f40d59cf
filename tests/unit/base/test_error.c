/* The error object: the first report wins, nothing overflows, what another process sends is made safe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void test_first_wins(void **state)
{
	struct error e = ERROR_INIT;

	assert_int_equal(error_set(&e, ERROR_REFUSED, EPERM, "step 1", "ask", "first %d", 1), -EPERM);
	assert_int_equal(error_set(&e, ERROR_INTERNAL, EIO, "step 2", NULL, "second"), -EIO);
	assert_int_equal(e.code, ERROR_REFUSED);
	assert_int_equal(e.err, EPERM);
	assert_string_equal(e.step, "step 1");
	assert_string_equal(e.remedy, "ask");
	assert_string_equal(e.message, "first 1");
}

static void test_return_value(void **state)
{
	struct error e = ERROR_INIT;

	assert_int_equal(error_set(NULL, ERROR_INVALID, ENOENT, "s", NULL, "m"), -ENOENT);
	assert_int_equal(error_set(NULL, ERROR_INVALID, 0, "s", NULL, "m"), -EINVAL);
	assert_int_equal(error_set(&e, ERROR_INVALID, 0, NULL, NULL, "m"), -EINVAL);
	assert_int_equal(e.err, 0); /* no errno is made up */
	assert_string_equal(e.step, "");
	assert_string_equal(e.remedy, "");
}

static void test_overflow(void **state)
{
	struct error e = ERROR_INIT;
	char text[2048];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&e, ERROR_INVALID, EIO, text, text, "%s", text);
	assert_int_equal(strlen(e.step), ERROR_STEP_MAX - 1);
	assert_int_equal(strlen(e.message), ERROR_MESSAGE_MAX - 1);
	assert_int_equal(strlen(e.remedy), ERROR_REMEDY_MAX - 1);
}

static void test_names(void **state)
{
	for (uint32_t code = 0; code < ERROR_CODE_COUNT; code++)
		assert_int_equal(error_code_from_name(error_code_name(code)), code);
	assert_int_equal(error_code_from_name("refused"), ERROR_CODE_COUNT);
	assert_int_equal(error_code_from_name(""), ERROR_CODE_COUNT);
	assert_string_equal(error_code_name(ERROR_CODE_COUNT), "Internal");
	assert_string_equal(error_code_name(UINT32_MAX), "Internal");
}

static void test_sanitise(void **state)
{
	struct error e;

	memset(&e, 0xff, sizeof(e));
	error_sanitise(&e);
	assert_int_equal(e.code, ERROR_INTERNAL);
	assert_int_equal(strlen(e.step), ERROR_STEP_MAX - 1);
	assert_int_equal(strlen(e.message), ERROR_MESSAGE_MAX - 1);
	assert_int_equal(strlen(e.remedy), ERROR_REMEDY_MAX - 1);
	e.code = ERROR_LIMIT;
	error_sanitise(&e);
	assert_int_equal(e.code, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_wins), cmocka_unit_test(test_return_value), cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_names),      cmocka_unit_test(test_sanitise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
