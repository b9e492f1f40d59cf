/* The real isod with a stand-in for each of its helpers (stub.c): one daemon a scenario. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/tree_remove.h"

#define PATIENCE_MS 120000

struct daemon {
	char dir[64];
	pid_t pid;
	int result;
};

static void put(char *path, const struct daemon *d, const char *name)
{
	snprintf(path, 128, "%s/%s", d->dir, name);
}

static void write_text(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_full(fd, text, strlen(text)), 0);
}

static void wait_readable(int fd)
{
	struct pollfd p = { fd, POLLIN, 0 };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static void make_folders(struct daemon *d, const char *scenario)
{
	static const char *const helpers[] = { "bin/isod-control", "bin/isod-launch", "bin/isod-session" };
	static const char *const folders[] = { "bin", "etc" };
	char path[128];

	strcpy(d->dir, "/tmp/isod-test-XXXXXX");
	assert_non_null(mkdtemp(d->dir));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		put(path, d, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(helpers); i++) {
		put(path, d, helpers[i]);
		assert_int_equal(symlink(STUB, path), 0);
	}
	put(path, d, "etc/scenario");
	write_text(path, scenario);
	put(path, d, "etc/result");
	assert_int_equal(mkfifo(path, 0600), 0);
	d->result = open(path, O_RDWR | O_CLOEXEC);
	assert_true(d->result >= 0);
}

static void exec_isod(const struct daemon *d, int ready)
{
	char run[128], state[128], etc[128], bin[128], number[16];

	put(run, d, "run");
	put(state, d, "state");
	put(etc, d, "etc");
	put(bin, d, "bin");
	/* A test that fails leaves no daemon behind. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	snprintf(number, sizeof(number), "%d", ready);
	fd_set_cloexec(ready, false);
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
	dup2(2, 1);
	execl(ISOD, "isod", "--run-dir", run, "--state-dir", state, "--config-dir", etc, "--libexec", bin, "--user",
	      "nobody", "--net-user", "daemon", "--ready-fd", number, NULL);
	_exit(127);
}

static void start_isod(struct daemon *d)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	d->pid = fork();
	assert_true(d->pid >= 0);
	if (d->pid == 0)
		exec_isod(d, ready[1]);
	close(ready[1]);
	wait_readable(ready[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
}

static int connect_to(const struct daemon *d)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/isod.sock", d->dir);
	assert_true(sock >= 0);
	assert_int_equal(connect(sock, (struct sockaddr *)&address, sizeof(address)), 0);
	return sock;
}

/* Reads until a line that is only a dot. */
static void read_result(const struct daemon *d, char *text, size_t size)
{
	size_t len = 0;

	for (;;) {
		ssize_t n;

		wait_readable(d->result);
		n = read(d->result, text + len, size - 1 - len);
		assert_true(n > 0);
		len += n;
		text[len] = '\0';
		if (len >= 2 && strcmp(text + len - 2, ".\n") == 0 && (len == 2 || text[len - 3] == '\n'))
			break;
	}
	text[len - 2] = '\0';
}

static size_t count_entries(const char *path)
{
	_cleanup_closedir_ DIR *d = opendir(path);
	const struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		n += entry->d_name[0] != '.';
	return n;
}

static void end_isod(struct daemon *d)
{
	char path[128];
	int status;

	kill(d->pid, SIGTERM);
	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	put(path, d, "state/sessions");
	assert_int_equal(count_entries(path), 0);
	put(path, d, "run/isod.sock");
	assert_int_equal(access(path, F_OK), -1);
	fd_close(d->result);
	assert_int_equal(tree_remove(AT_FDCWD, d->dir), 0);
}

static const char RESTARTED[] = "control was restarted\n";
static const char DESCRIPTORS[] = "started 00000000000a fd 1\n"
				  "ended 00000000000a\n"
				  "0 null\n1 pipe\n2 pipe\n3 memory\n4 memory\n5 pipe\n6 socket\n7 memory\n8 memory\n"
				  "9 folder path\n10 folder path\n11 null\n12 null\n13 null\n";

static const struct {
	const char *scenario;
	const char *expected;
} table[] = {
	{ "quick", "started 00000000000a fd 1\nended 00000000000a\n" },
	{ "fail", "failed 00000000000a\nCannotExecute: This is no program.\n" },
	{ "fail-late", "failed 00000000000a\nCannotExecute: This went wrong late.\n" },
	{ "die", "failed 00000000000a\nInternal: isod-launch ended without a report.\n" },
	{ "not-ours",
	  "failed 00000000000a\nInternal: The first process of the session cannot be watched: No child processes.\n" },
	{ "helper-dies", "failed 00000000000a\nInternal: isod-session ended during the start.\n" },
	{ "helper-ends-first", "started 00000000000a fd 1\nended 00000000000a\n" },
	{ "file-as-stdin",
	  "failed 00000000000a\nRefused: stdin is a regular file; from inside it could be opened again with other "
	  "rights.\n" },
	{ "bad-limit", "failed 00000000000a\nSandboxUnavailable: The pids limit of the policy cannot be set on this "
		       "machine: Invalid argument.\n" },
	{ "bad-type", RESTARTED },
	{ "isods-own-type", RESTARTED },
	{ "short", RESTARTED },
	{ "long", RESTARTED },
	{ "other-uid", RESTARTED },
	{ "plan-of-other-uid", RESTARTED },
	{ "plan-of-other-id", RESTARTED },
	{ "plan-nests-in-secret", RESTARTED },
	{ "unsealed-plan", RESTARTED },
	{ "unknown-connection", RESTARTED },
	{ "done-twice", RESTARTED },
	{ "bad-id", RESTARTED },
	{ "same-id-twice", RESTARTED },
	{ "few-fds", RESTARTED },
	{ "unknown-flags", RESTARTED },
	{ "tls-to-nothing", RESTARTED },
	{ "crash-with-session", "started 00000000000a fd 1\ncontrol was restarted\n" },
};

static void run_scenario(const char *scenario, char *text, size_t size)
{
	struct daemon d;
	int client;

	make_folders(&d, scenario);
	start_isod(&d);
	client = connect_to(&d);
	read_result(&d, text, size);
	close(client);
	end_isod(&d);
}

static void test_table(void **state)
{
	char text[4096];

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		run_scenario(table[i].scenario, text, sizeof(text));
		if (strcmp(text, table[i].expected) != 0)
			fail_msg("%s: got\n%sand not\n%s", table[i].scenario, text, table[i].expected);
	}
}

static void test_broken_plan_fails_only_itself(void **state)
{
	char text[4096];

	run_scenario("broken-plan", text, sizeof(text));
	assert_int_equal(strncmp(text, "failed 00000000000a\n", 20), 0);
}

/* The launcher gets the descriptors of fds.h, a control group's for each hierarchy, and no other. */
static void test_kill_and_descriptors(void **state)
{
	char text[4096];
	const char *rest;
	size_t groups = 0;

	run_scenario("kill", text, sizeof(text));
	if (strncmp(text, DESCRIPTORS, strlen(DESCRIPTORS)) != 0)
		fail_msg("the launcher has: %s", text);
	for (rest = text + strlen(DESCRIPTORS); strncmp(rest, "cgroup\n", 7) == 0; rest += 7)
		groups++;
	assert_true(groups >= 1 && groups <= 5);
	assert_string_equal(rest, "started 00000000000a fd 1\nended 00000000000a\n");
}

/* A session that runs when isod is asked to end. */
static void test_term_with_session(void **state)
{
	char text[4096];
	struct daemon d;
	int client;

	make_folders(&d, "leave-running");
	start_isod(&d);
	client = connect_to(&d);
	read_result(&d, text, sizeof(text));
	assert_string_equal(text, "started 00000000000a fd 1\n");
	end_isod(&d);
	close(client);
}

/* SIGKILL to every child of isod but isod-control, which was its first. */
static void kill_sessions_of(pid_t pid)
{
	char path[64], text[4096];
	_cleanup_close_ int fd = -1;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	n = fd_read_full(fd, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	for (at = strchr(text, ' '); at && at[1]; at = strchr(at + 1, ' '))
		kill((pid_t)atoi(at + 1), SIGKILL);
}

/* All of them end in the same turn of the loop, in which isod is told to end, too: it does so once. */
static void term_with_many_sessions(void)
{
	char text[4096];
	struct daemon d;
	int client;

	make_folders(&d, "leave-many-running");
	start_isod(&d);
	client = connect_to(&d);
	read_result(&d, text, sizeof(text));
	assert_string_equal(text, "");
	kill(d.pid, SIGSTOP);
	kill(d.pid, SIGTERM);
	kill_sessions_of(d.pid);
	kill(d.pid, SIGCONT);
	end_isod(&d);
	close(client);
}

static void test_term_with_many_sessions(void **state)
{
	/* Which ends fall together is the machine's choice. */
	for (int i = 0; i < 6; i++)
		term_with_many_sessions();
}

/* kill -9: the next isod on the same folders clears up. */
static void test_killed_and_started_again(void **state)
{
	char text[4096], path[128];
	struct daemon d;
	int client, status;

	make_folders(&d, "leave-running");
	start_isod(&d);
	client = connect_to(&d);
	read_result(&d, text, sizeof(text));
	kill(d.pid, SIGKILL);
	assert_int_equal(waitpid(d.pid, &status, 0), d.pid);
	close(client);
	put(path, &d, "state/sessions/00000000000a");
	assert_int_equal(access(path, F_OK), 0);
	start_isod(&d);
	assert_int_equal(access(path, F_OK), -1);
	read_result(&d, text, sizeof(text));
	assert_string_equal(text, RESTARTED);
	end_isod(&d);
}

static int status_of_second(const struct daemon *d)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		exec_isod(d, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0);
	close(ready[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_second_isod_is_refused(void **state)
{
	struct daemon d;
	int status, client;

	make_folders(&d, "quick");
	start_isod(&d);
	status = status_of_second(&d);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	/* The first still answers. */
	client = connect_to(&d);
	close(client);
	end_isod(&d);
}

static void test_missing_helper(void **state)
{
	char path[128];
	struct daemon d;
	int status;

	make_folders(&d, "quick");
	put(path, &d, "bin/isod-control");
	assert_int_equal(unlink(path), 0);
	status = status_of_second(&d);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
	fd_close(d.result);
	assert_int_equal(tree_remove(AT_FDCWD, d.dir), 0);
}

/* One user cannot take all connections; what is too much is closed, and the rest lives. */
static void test_connection_quota(void **state)
{
	static int socks[600];
	struct daemon d;
	char byte;

	make_folders(&d, "count");
	start_isod(&d);
	for (size_t i = 0; i < ARRAY_SIZE(socks); i++)
		socks[i] = connect_to(&d);
	wait_readable(socks[599]);
	assert_int_equal(read(socks[599], &byte, 1), 0);
	assert_int_equal(recv(socks[0], &byte, 1, MSG_DONTWAIT), -1);
	for (size_t i = 0; i < ARRAY_SIZE(socks); i++)
		close(socks[i]);
	end_isod(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_broken_plan_fails_only_itself),
		cmocka_unit_test(test_kill_and_descriptors),
		cmocka_unit_test(test_term_with_session),
		cmocka_unit_test(test_term_with_many_sessions),
		cmocka_unit_test(test_killed_and_started_again),
		cmocka_unit_test(test_second_isod_is_refused),
		cmocka_unit_test(test_missing_helper),
		cmocka_unit_test(test_connection_quota),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
