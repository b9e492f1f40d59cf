/* The log: one line a call whatever the text holds, and errno as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

/* Runs one call with stderr as a pipe; what came out, terminated. */
static void capture(enum log_level level, const char *text, char *ret, size_t size)
{
	int pipes[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	ssize_t n;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
	log_open("test", LOG_LEVEL_INFO);
	errno = ENOTTY;
	log_write(level, "%s", text);
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	fd_close(saved);
	fd_close(pipes[1]);
	n = fd_read_full(pipes[0], ret, size - 1);
	assert_true(n >= 0);
	ret[n] = '\0';
	fd_close(pipes[0]);
}

static void test_line(void **state)
{
	char out[8192];

	capture(LOG_LEVEL_WARNING, "plain \xc3\xa9", out, sizeof(out));
	/* UTF-8 could hide a C1 control (c2 9b is CSI): bytes beyond ASCII are spelled out. */
	assert_string_equal(out, "<4>test: plain \\xc3\\xa9\n");
	capture(LOG_LEVEL_DEBUG, "hidden", out, sizeof(out));
	assert_string_equal(out, "");
}

static void test_escapes(void **state)
{
	char out[8192];

	capture(LOG_LEVEL_ERROR, "a\n<0>isod: forged\r\x1b[2J\x7f\t", out, sizeof(out));
	assert_string_equal(out, "<3>test: a\\x0a<0>isod: forged\\x0d\\x1b[2J\\x7f\\x09\n");
}

static void test_long(void **state)
{
	char text[10000], out[8192];

	memset(text, '\x01', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	capture(LOG_LEVEL_INFO, text, out, sizeof(out));
	assert_in_range(strlen(out), 2000, 4096);
	assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
	memset(text, 'x', sizeof(text) - 1);
	capture(LOG_LEVEL_INFO, text, out, sizeof(out));
	assert_int_equal(strlen(out), strlen("<6>test: ") + 2047 + 1);
}

static void test_errno_text(void **state)
{
	char out[8192];
	int pipes[2], saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(dup2(pipes[1], STDERR_FILENO), STDERR_FILENO);
	errno = ENOENT;
	log_error("open: %m");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	fd_close(pipes[1]);
	out[fd_read_full(pipes[0], out, sizeof(out) - 1)] = '\0';
	fd_close(pipes[0]);
	fd_close(saved);
	assert_string_equal(out, "<3>test: open: No such file or directory\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_errno_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
