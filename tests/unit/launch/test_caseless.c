/* Folders without case. No file system of the test machine is one; tests/vm has one. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/fd.h"
#include "daemon/linux/view/launch_caseless.h"

static char folder[] = "/var/tmp/isod-test-caseless-XXXXXX";

static void shell(const char *script)
{
	char command[512];

	snprintf(command, sizeof(command), "set -e; cd %s; %s", folder, script);
	assert_int_equal(system(command), 0);
}

/* Where names have case it is seen by the names; where there are none the type decides. */
static void case_is_found_by_trying(void **state)
{
	int fd;

	assert_non_null(mkdtemp(folder));
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_UNKNOWN);
	shell("echo > 1; echo > 22");
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_UNKNOWN);
	/* As where there is no case, but for the count of its names. */
	shell("echo > 1a; ln 1a 1A");
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_UNKNOWN);
	shell("rm 1A");
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_NO);
	shell("echo > 1A");
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_NO);
	shell("rm *; rmdir $PWD");
	fd_close(fd);
	assert_true(launch_caseless_type(0x4d44));
	assert_false(launch_caseless_type(0xef53));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(case_is_found_by_trying) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
