/* Folders without case. No file system of the test machine is one; tests/vm has one. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "daemon/linux/view/launch_caseless.h"

/* As in a folder without case, in which somebody renames the file: of the looks at it under one of its names so many
 * are in the wrong moment. */
static struct {
	bool on, fat;
	unsigned other_gone, first_gone, replaced;
} fake;

int fstatat(int fd, const char *restrict name, struct stat *restrict st, int flags)
{
	bool other = fake.on && strcmp(name, "FOO") == 0;
	unsigned *gone = other ? &fake.other_gone : &fake.first_gone;

	if (fake.on && *gone > 0) {
		--*gone;
		errno = ENOENT;
		return -1;
	}
	if (syscall(SYS_newfstatat, fd, other ? "fOO" : name, st, flags) < 0)
		return -1;
	if (other && fake.replaced > 0) {
		fake.replaced--;
		st->st_ino++;
		fake.first_gone = 1;
	}
	return 0;
}

int fstatfs(int fd, struct statfs *fs)
{
	*fs = (struct statfs){ .f_type = fake.fat ? 0x4d44 : 0xef53 };
	return 0;
}

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

/* What is renamed between two looks is no proof of case. */
static void names_that_are_changed_meanwhile(void **state)
{
	int fd;

	strcpy(folder, "/var/tmp/isod-test-caseless-XXXXXX");
	assert_non_null(mkdtemp(folder));
	shell("echo > fOO");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	fake.on = true;
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_YES);
	/* another is in its place, and the first is gone when it is looked for again */
	fake.replaced = 1;
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_UNKNOWN);
	assert_int_equal(fake.first_gone, 0);
	/* gone, and back again in time: one look proves it where names have case, but not where they may have none */
	fake.other_gone = 1;
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_NO);
	fake.fat = true;
	fake.other_gone = 20;
	assert_int_equal(launch_caseless_folder(fd), LAUNCH_CASELESS_YES);
	fake.on = fake.fat = false;
	shell("rm *; rmdir $PWD");
	fd_close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(case_is_found_by_trying),
					    cmocka_unit_test(names_that_are_changed_meanwhile) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
