/* The real isod-launch from start to exit, with the test as isod. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/launch/driver.h"

#define SHELL(script) ((const char *const[]){ "sh", "-c", script, NULL })

static void shows_an_ordinary_process(void **state)
{
	struct driver d;
	struct link_message exit;

	driver_init(&d, SHELL("id; pwd; hostname; ls -la / /dev; cat /proc/self/status; cat /proc/self/mountinfo; ls "
			      "-l /proc/self/fd; cat /proc/1/status; exit 7"));
	driver_run(&d, &exit);
	printf("%s\n", d.text);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 7);
	driver_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(shows_an_ordinary_process) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
