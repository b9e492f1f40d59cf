/* What may be given for a recording. */
#include "daemon/monitor/record_check.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void files(void **state)
{
	static const struct {
		int flags, r;
	} cases[] = {
		{ O_WRONLY | O_APPEND, 0 }, { O_WRONLY, -EPERM }, { O_RDWR | O_APPEND, -EPERM },
		{ O_RDONLY, -EPERM },       { O_PATH, -EPERM },
	};
	char path[] = "/tmp/isod-test-record-XXXXXX";
	int made = mkstemp(path);

	assert_true(made >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;
		int fd = open(path, cases[i].flags | O_CLOEXEC);

		assert_int_equal(record_check(fd, &e), cases[i].r);
		assert_int_equal(e.code, cases[i].r < 0 ? ERROR_REFUSED : ERROR_NONE);
		fd_close(fd);
	}
	fd_close(made);
	unlink(path);
}

static void what_is_no_file(void **state)
{
	static const struct {
		const char *path;
		int flags;
	} others[] = {
		{ "/dev/null", O_WRONLY | O_APPEND },
		{ "/proc/self/oom_score_adj", O_WRONLY | O_APPEND },
		{ "/proc/self/comm", O_WRONLY | O_APPEND },
		{ "/tmp", O_RDONLY | O_DIRECTORY },
	};
	int ends[2];

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct error e = ERROR_INIT;
		int fd = open(others[i].path, others[i].flags | O_CLOEXEC);

		assert_true(fd >= 0);
		assert_int_equal(record_check(fd, &e), -EPERM);
		fd_close(fd);
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(record_check(ends[1], &(struct error)ERROR_INIT), -EPERM);
	assert_int_equal(record_check(-1, &(struct error)ERROR_INIT), -EPERM);
	fd_close(ends[0]);
	fd_close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(files), cmocka_unit_test(what_is_no_file) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
