/* From start to end: exit statuses, signals, the terminal, the link, orphans. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "base/sanitizer.h"
#include "daemon/wire/fds.h"
#include "tests/unit/launch/driver.h"

#define SHELL(script) ((const char *const[]){ "sh", "-c", script, NULL })

static void start(struct driver *d)
{
	struct link_message message;

	driver_start(d);
	if (driver_report(d) != 0)
		fail_msg("%s: %s", d->error.step, d->error.message);
	driver_link(d, LINK_STARTED, &message);
	assert_int_equal(message.value, 2);
}

static void send(struct driver *d, uint32_t type, int value)
{
	struct link_message message = { .type = type, .value = value };

	driver_send(d, &message);
}

/* Reads until the text has come; what came is kept in d->text. */
static void expect(struct driver *d, int fd, const char *text)
{
	size_t len = 0;

	do {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n;

		assert_int_equal(poll(&p, 1, 60000), 1);
		n = read(fd, d->text + len, sizeof(d->text) - 1 - len);
		assert_true(n > 0);
		len += (size_t)n;
		d->text[len] = '\0';
	} while (!strstr(d->text, text));
}

static void expect_exit(struct driver *d, enum exit_kind kind, int value)
{
	struct link_message message;

	driver_link(d, LINK_EXITED, &message);
	assert_int_equal(message.kind, kind);
	assert_int_equal(message.value, value);
	driver_done(d);
}

static void statuses_come_back(void **state)
{
	static const struct {
		const char *script;
		enum exit_kind kind;
		int value;
	} cases[] = {
		{ "exit 0", EXIT_KIND_CODE, 0 },
		{ "exit 255", EXIT_KIND_CODE, 255 },
		{ "kill -9 $$", EXIT_KIND_SIGNAL, SIGKILL },
		{ "kill -15 $$", EXIT_KIND_SIGNAL, SIGTERM },
		{ "kill -13 $$", EXIT_KIND_SIGNAL, SIGPIPE },
		{ "kill -1 $$", EXIT_KIND_SIGNAL, SIGHUP },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct driver d;

		driver_init(&d, SHELL(cases[i].script));
		start(&d);
		expect_exit(&d, cases[i].kind, cases[i].value);
	}
}

static void stdin_ends_when_it_is_closed(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("cat; echo end"));
	start(&d);
	assert_int_equal(write(d.input, "abc\n", 4), 4);
	d.input = fd_close(d.input);
	driver_output(&d);
	assert_string_equal(d.text, "abc\nend\n");
	expect_exit(&d, EXIT_KIND_CODE, 0);
}

/* Nobody but the program holds its pipes. */
static void stdout_ends_when_the_program_closes_it(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("exec >&- 2>&-; read line"));
	start(&d);
	driver_output(&d);
	assert_string_equal(d.text, "");
	d.input = fd_close(d.input);
	expect_exit(&d, EXIT_KIND_CODE, 1);
}

static void signals_reach_the_whole_group(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("trap 'echo parent; wait; exit 3' USR1; (trap 'echo child; exit' USR1; echo ready; "
			      "while :; do read x; done) & echo up; while :; do wait; done"));
	start(&d);
	expect(&d, d.output, "ready");
	send(&d, LINK_SIGNAL, SIGUSR1);
	driver_output(&d);
	assert_non_null(strstr(d.text, "parent"));
	expect_exit(&d, EXIT_KIND_CODE, 3);
}

static void stop_and_continue_are_told(void **state)
{
	struct driver d;
	struct link_message message;

	driver_init(&d, SHELL("echo ready; read x; exit 4"));
	start(&d);
	expect(&d, d.output, "ready");
	send(&d, LINK_SIGNAL, SIGSTOP);
	driver_link(&d, LINK_STOPPED, &message);
	assert_int_equal(message.value, SIGSTOP);
	send(&d, LINK_CONTINUE, 0);
	driver_link(&d, LINK_CONTINUED, &message);
	assert_int_equal(write(d.input, "\n", 1), 1);
	expect_exit(&d, EXIT_KIND_CODE, 4);
}

/* Whoever ignores the hang-up is killed after the grace. */
static void hangup_ends_everybody(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("echo ready; read x"));
	start(&d);
	expect(&d, d.output, "ready");
	send(&d, LINK_HANGUP, 0);
	expect_exit(&d, EXIT_KIND_SIGNAL, SIGHUP);
	driver_init(&d, SHELL("trap '' HUP TERM; echo ready; read x"));
	start(&d);
	expect(&d, d.output, "ready");
	send(&d, LINK_HANGUP, 0);
	expect_exit(&d, EXIT_KIND_SIGNAL, SIGKILL);
}

/* The end of the link is the end of the session: driver_done() waits for pid 1, stdout for everybody else. */
static void the_end_of_the_link_ends_the_session(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("trap '' HUP TERM; setsid sh -c 'read x' & echo ready; read x"));
	start(&d);
	expect(&d, d.output, "ready");
	d.link = fd_close(d.link);
	driver_output(&d);
	driver_done(&d);
}

static void malformed_messages_end_the_session(void **state)
{
	static const struct link_message wrong[] = { { .type = LINK_EXITED }, { .type = 99 }, { .type = LINK_SIGNAL } };

	for (size_t i = 0; i <= ARRAY_SIZE(wrong); i++) {
		struct driver d;

		driver_init(&d, SHELL("read x"));
		start(&d);
		if (i < ARRAY_SIZE(wrong))
			driver_send(&d, &wrong[i]);
		else
			assert_int_equal(write(d.link, "short", 5), 5);
		driver_output(&d);
		driver_done(&d);
	}
}

/* No zombie of an orphan stays, and the session ends with its program though others still run. */
static void orphans_are_reaped(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("for i in 1 2 3 4 5; do (sh -c : & exit); done; "
			      "while grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null; do :; done; "
			      "(setsid sh -c 'read x' </dev/tty 2>/dev/null; :) & (cat <&0 &) ; exit 6"));
	start(&d);
	expect_exit(&d, EXIT_KIND_CODE, 6);
}

static bool status_has(const char *status, const char *line)
{
	if (!strstr(status, line))
		fputs(status, stderr);
	return strstr(status, line) != NULL;
}

/* What is left of root's process, seen from the host: two foreign ids, no right, seven descriptors. */
static void pid1_keeps_nothing(void **state)
{
	struct driver d;
	_cleanup_free_ char *status = NULL;
	_cleanup_closedir_ DIR *dir = NULL;
	char path[64];
	size_t len, count = 0;
	int fd;

	driver_init(&d, SHELL("echo ready; read x"));
	start(&d);
	expect(&d, d.output, "ready");
	/* An answer proves that it has reached its loop. */
	driver_send(&d, &(struct link_message){ .type = LINK_WHO });
	driver_link(&d, LINK_OWNER, &(struct link_message){ 0 });
	snprintf(path, sizeof(path), "/proc/%d/status", d.pid1);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd_read_file(fd, 65536, &status, &len), 0);
	fd_close(fd);
	assert_true(status_has(status, "Uid:\t12346\t12345\t12346\t12345\n"));
	assert_true(status_has(status, "Gid:\t12346\t12345\t12346\t12345\n"));
	assert_true(status_has(status, "Groups:\t \n"));
	assert_true(status_has(status, "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
				       "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"));
#ifndef SANITIZED_BUILD
	assert_true(status_has(status, "Seccomp:\t2\n"));
#endif
	snprintf(path, sizeof(path), "/proc/%d/fd", d.pid1);
	dir = opendir(path);
	assert_non_null(dir);
	for (struct dirent *e; (e = readdir(dir));)
		count += e->d_name[0] != '.';
	/* 0, 1, 2 = null; the link; children; grace; diag; what it keeps for later commands, of which the Landlock
	 * rules only where the kernel has it */
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", d.pid1, LAUNCH_KEPT_LANDLOCK);
	assert_int_equal(count, 8 + (faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0));
	d.input = fd_close(d.input);
	expect_exit(&d, EXIT_KIND_CODE, 1);
}

static void with_pty(struct driver *d, const char *script)
{
	struct link_message message;

	driver_init(d, SHELL(script));
	d->plan.flags = PLAN_PTY;
	d->plan.rows = 33;
	d->plan.columns = 111;
	driver_start(d);
	if (driver_report(d) != 0)
		fail_msg("%s: %s", d->error.step, d->error.message);
	driver_link(d, LINK_PTY, &message);
	driver_link(d, LINK_STARTED, &message);
}

static void the_terminal_is_its_own(void **state)
{
	struct driver d;

	with_pty(&d, "stty size; tty; ls -l /dev/pts/0 | cut -c1-10; cut -d' ' -f5,6,8 /proc/$$/stat; "
		     "echo tty > /dev/tty; echo end");
	expect(&d, d.pty, "end");
	assert_non_null(strstr(d.text, "33 111\r\n/dev/pts/0\r\ncrw--w----\r\n"));
	/* Group 2 of session 1 is in the foreground: not orphaned, so it can be stopped. */
	assert_non_null(strstr(d.text, "2 1 2\r\ntty\r\n"));
	expect_exit(&d, EXIT_KIND_CODE, 0);
}

static void keys_are_signals(void **state)
{
	struct driver d;
	struct link_message message;

	with_pty(&d, "trap 'echo int' INT; stty -echo; echo ready; until read x; do :; done; echo got $x; exit 7");
	expect(&d, d.pty, "ready");
	assert_int_equal(write(d.pty, "\003", 1), 1);
	expect(&d, d.pty, "int");
	assert_int_equal(write(d.pty, "\032", 1), 1);
	driver_link(&d, LINK_STOPPED, &message);
	assert_int_equal(message.value, SIGTSTP);
	send(&d, LINK_CONTINUE, 0);
	driver_link(&d, LINK_CONTINUED, &message);
	assert_int_equal(write(d.pty, "yes\n", 4), 4);
	expect(&d, d.pty, "got yes");
	expect_exit(&d, EXIT_KIND_CODE, 7);
}

static void a_new_size_is_a_signal(void **state)
{
	struct driver d;
	struct winsize size = { .ws_row = 12, .ws_col = 34 };

	with_pty(&d, "trap 'stty size; exit 0' WINCH; echo ready; while :; do read x; done");
	expect(&d, d.pty, "ready");
	assert_int_equal(ioctl(d.pty, TIOCSWINSZ, &size), 0);
	expect(&d, d.pty, "12 34");
	expect_exit(&d, EXIT_KIND_CODE, 0);
}

/* The last bytes stay in the pty until they are read, though every process is gone. */
static void the_last_output_is_kept(void **state)
{
	struct driver d;
	struct link_message message;
	int status;

	with_pty(&d, "printf last");
	driver_link(&d, LINK_EXITED, &message);
	assert_int_equal(waitpid(d.pid1, &status, 0), d.pid1);
	d.pid1 = 0;
	expect(&d, d.pty, "last");
	driver_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statuses_come_back),
		cmocka_unit_test(stdin_ends_when_it_is_closed),
		cmocka_unit_test(stdout_ends_when_the_program_closes_it),
		cmocka_unit_test(signals_reach_the_whole_group),
		cmocka_unit_test(stop_and_continue_are_told),
		cmocka_unit_test(hangup_ends_everybody),
		cmocka_unit_test(the_end_of_the_link_ends_the_session),
		cmocka_unit_test(malformed_messages_end_the_session),
		cmocka_unit_test(orphans_are_reaped),
		cmocka_unit_test(pid1_keeps_nothing),
		cmocka_unit_test(the_terminal_is_its_own),
		cmocka_unit_test(keys_are_signals),
		cmocka_unit_test(a_new_size_is_a_signal),
		cmocka_unit_test(the_last_output_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
