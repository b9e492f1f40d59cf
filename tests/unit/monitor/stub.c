/*
 * Stands in for isod-control, isod-launch and isod-session, by its name, so that isod can be tested alone and be told
 * what its helpers never say. The file "scenario" of the configuration folder names what to do; what happens is
 * written, a line a fact, to the FIFO "result" there. test_isod.c holds the expected lines.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/wire/context.h"
#include "daemon/wire/control_wire.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/plan.h"
#include "daemon/wire/report.h"

#define ID "00000000000a"

/* Helpers get no environment; under a sanitizer they are told its options. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ENVIRONMENT false
#else
#define HAS_ENVIRONMENT (environ[0] != NULL)
#endif

static int result = -1;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (fd_write_full(result, line, n) < 0)
		_exit(90);
}

/* ---- isod-control ---- */

static struct control_message peer;

static void receive(struct control_message *m, int *ret_fd)
{
	int fds[FD_PASS_MAX];
	size_t n_fds = FD_PASS_MAX;
	ssize_t n;

	do
		n = fd_pass_receive(CONTROL_FD_MONITOR, m, sizeof(*m), fds, &n_fds);
	while (n == -EAGAIN && poll(&(struct pollfd){ CONTROL_FD_MONITOR, POLLIN, 0 }, 1, -1) >= 0);
	if (n != sizeof(*m))
		_exit(0); /* isod ends */
	*ret_fd = n_fds ? fds[0] : -1;
}

static struct control_message start_message(void)
{
	struct control_message m = { .type = CONTROL_START, .connection = peer.connection, .uid = peer.uid };

	memcpy(m.id, ID, sizeof(ID));
	return m;
}

static int make_plan(const char *what, uint32_t uid, const char *id, uint32_t flags)
{
	const char *const argv[] = { what, NULL }, *const envp[] = { NULL };
	const struct plan plan = { .uid = uid,
				   .flags = flags,
				   .id = id,
				   .hostname = "isod",
				   .cwd = "/",
				   .argv = argv,
				   .envp = envp,
				   .n_argv = 1 };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	if (plan_encode(&plan, &b) < 0)
		_exit(91);
	return fd_sealed_new("plan", b.data, b.len);
}

/* The pipe whose write end is the session's stdout and stderr. */
static int output[2];

static void send_start(const struct control_message *m, int plan, const char *egress, int in)
{
	const int fds[] = { plan, fd_sealed_new("egress", egress, strlen(egress)), in, output[1], output[1] };

	if (fd_pass_send(CONTROL_FD_MONITOR, m, sizeof(*m), fds, 5) < 0)
		_exit(92);
	fd_close(fds[1]);
}

static void start(const char *what, const char *egress)
{
	struct control_message m = start_message();
	int plan = make_plan(what, m.uid, ID, 0);

	send_start(&m, plan, egress, open("/dev/null", O_RDWR));
	fd_close(plan);
}

static void relay_output(void)
{
	char text[4096];
	ssize_t n;

	fd_close(output[1]);
	while ((n = read(output[0], text, sizeof(text))) > 0)
		fd_write_full(result, text, n);
}

/* Follows the one session to its end. */
static void follow(bool kill_it, bool leave_it)
{
	for (;;) {
		struct control_message m;
		int fd;

		receive(&m, &fd);
		if (m.type == CONTROL_SESSION_STARTED) {
			say("started %s fd %d\n", m.id, fd >= 0);
			if (leave_it)
				fd_close(fd);
			m = (struct control_message){ .type = CONTROL_KILL };
			memcpy(m.id, ID, sizeof(ID));
			if (kill_it && fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), NULL, 0) < 0)
				_exit(93);
		} else {
			say(m.type == CONTROL_SESSION_FAILED ? "failed %s\n" : "ended %s\n", m.id);
			if (m.error.code)
				say("%s: %s\n", error_code_name(m.error.code), m.error.message);
			return;
		}
	}
}

static void run_kill(void)
{
	start("sleep", "x");
	follow(true, false);
	/* Again, of a session that is gone: no offence. */
	start("list", "x");
	relay_output();
	follow(true, false);
}

static void run_quick(void)
{
	start("quick", "x");
	follow(false, false);
}

static void run_fail(void)
{
	start("fail", "x");
	follow(false, false);
}

static void run_fail_late(void)
{
	start("fail-late", "x");
	follow(false, false);
}

static void run_die(void)
{
	start("die", "x");
	follow(false, false);
}

static void run_not_ours(void)
{
	start("not-ours", "x");
	follow(false, false);
}

static void run_helper_dies(void)
{
	start("sleep", "die");
	follow(false, false);
}

static void run_helper_ends_first(void)
{
	start("sleep", "x");
	follow(false, true);
}

static void run_file_as_stdin(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("sleep", m.uid, ID, 0), "x", memfd_create("file", MFD_CLOEXEC));
	follow(false, false);
}

static void run_bad_limit(void)
{
	struct control_message m = start_message();

	/* No kernel has so many. */
	m.limits.pids = UINT32_MAX;
	send_start(&m, make_plan("quick", m.uid, ID, 0), "x", open("/dev/null", O_RDWR));
	follow(false, false);
}

static void run_broken_plan(void)
{
	struct control_message m = start_message();

	send_start(&m, fd_sealed_new("plan", "nonsense", 8), "x", open("/dev/null", O_RDWR));
	follow(false, false);
}

/* What follows must end this process: isod answers by starting another one. */
static void run_bad_type(void)
{
	struct control_message m = { .type = 77 };

	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), NULL, 0);
}

static void run_isods_own_type(void)
{
	struct control_message m = { .type = CONTROL_PEER };

	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), NULL, 0);
}

static void run_short(void)
{
	fd_pass_send(CONTROL_FD_MONITOR, &peer, sizeof(peer) - 1, NULL, 0);
}

static void run_long(void)
{
	char bytes[sizeof(struct control_message) + 1] = { CONTROL_KILL };

	fd_pass_send(CONTROL_FD_MONITOR, bytes, sizeof(bytes), NULL, 0);
}

static void run_other_uid(void)
{
	struct control_message m = start_message();

	m.uid++;
	send_start(&m, make_plan("quick", m.uid, ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_of_other_uid(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid + 1, ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_of_other_id(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid, "00000000000b", 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_nests_in_secret(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid, ID, PLAN_NESTING), "x", open("/dev/null", O_RDWR));
}

static void run_unsealed_plan(void)
{
	struct control_message m = start_message();
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	fd_write_full(fd, "x", 1);
	send_start(&m, fd, "x", open("/dev/null", O_RDWR));
}

static void run_unknown_connection(void)
{
	struct control_message m = start_message();

	m.connection += 1000;
	send_start(&m, make_plan("quick", m.uid, ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_done_twice(void)
{
	struct control_message m = { .type = CONTROL_PEER_DONE, .connection = peer.connection };

	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), NULL, 0);
	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), NULL, 0);
}

static void run_bad_id(void)
{
	struct control_message m = start_message();

	memcpy(m.id, "../../../etc", 13);
	send_start(&m, make_plan("quick", m.uid, ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_same_id_twice(void)
{
	start("sleep", "x");
	start("sleep", "x");
}

static void run_few_fds(void)
{
	struct control_message m = start_message();
	int fds[] = { make_plan("quick", m.uid, ID, 0), output[1] };

	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), fds, 2);
}

static void run_unknown_flags(void)
{
	struct control_message m = start_message();

	m.flags = 1u << 31;
	send_start(&m, make_plan("quick", m.uid, ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_crash_with_session(void)
{
	struct control_message m;
	int fd;

	start("sleep", "x");
	receive(&m, &fd);
	say("started %s fd %d\n", m.id, fd >= 0);
	raise(SIGKILL);
}

static void run_leave_running(void)
{
	struct control_message m;
	int fd;

	start("sleep", "x");
	receive(&m, &fd);
	say("started %s fd %d\n", m.id, fd >= 0);
}

/* Keeps every connection. */
static void run_count(void)
{
	for (;;) {
		struct control_message m;
		int fd;

		receive(&m, &fd);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
	bool is_fatal; /* the next isod-control writes the last line */
} scenarios[] = {
	{ "kill", run_kill, false },
	{ "quick", run_quick, false },
	{ "fail", run_fail, false },
	{ "fail-late", run_fail_late, false },
	{ "die", run_die, false },
	{ "not-ours", run_not_ours, false },
	{ "helper-dies", run_helper_dies, false },
	{ "helper-ends-first", run_helper_ends_first, false },
	{ "file-as-stdin", run_file_as_stdin, false },
	{ "bad-limit", run_bad_limit, false },
	{ "broken-plan", run_broken_plan, false },
	{ "bad-type", run_bad_type, true },
	{ "isods-own-type", run_isods_own_type, true },
	{ "short", run_short, true },
	{ "long", run_long, true },
	{ "other-uid", run_other_uid, true },
	{ "plan-of-other-uid", run_plan_of_other_uid, true },
	{ "plan-of-other-id", run_plan_of_other_id, true },
	{ "plan-nests-in-secret", run_plan_nests_in_secret, true },
	{ "unsealed-plan", run_unsealed_plan, true },
	{ "unknown-connection", run_unknown_connection, true },
	{ "done-twice", run_done_twice, true },
	{ "bad-id", run_bad_id, true },
	{ "same-id-twice", run_same_id_twice, true },
	{ "few-fds", run_few_fds, true },
	{ "unknown-flags", run_unknown_flags, true },
	{ "leave-running", run_leave_running, false },
	{ "count", run_count, false },
	{ "crash-with-session", run_crash_with_session, true },
};

static int control(int argc, char **argv)
{
	char name[64] = "";
	struct control_message hello;
	int scenario = openat(CONTROL_FD_CONFIG, "scenario", O_RDONLY | O_CLOEXEC), fd;

	result = openat(CONTROL_FD_CONFIG, "result", O_WRONLY | O_CLOEXEC);
	if (scenario < 0 || result < 0 || fd_read_full(scenario, name, sizeof(name) - 1) < 0 ||
	    pipe2(output, O_CLOEXEC) < 0)
		return 94;
	receive(&hello, &fd);
	if (hello.type != CONTROL_HELLO || hello.error.code || argc != 5)
		say("bad hello\n");
	/* A mark in the audit folder tells that this is not the first isod-control. */
	if (mkdirat(CONTROL_FD_AUDIT, "started-before", 0700) < 0) {
		say("control was restarted\n.\n");
		receive(&hello, &fd);
		return 0;
	}
	receive(&peer, &fd);
	if (peer.type != CONTROL_PEER || fd < 0)
		say("bad peer\n");
	for (size_t i = 0; i < ARRAY_SIZE(scenarios); i++) {
		if (strcmp(scenarios[i].name, name) != 0)
			continue;
		scenarios[i].run();
		if (!scenarios[i].is_fatal)
			say(".\n");
	}
	receive(&hello, &fd);
	return 0;
}

/* ---- isod-launch ---- */

static void report(uint32_t type, int pid, const char *message)
{
	struct launch_report r = { .type = type, .pid = pid };

	if (message)
		error_set(&r.error, ERROR_CANNOT_EXECUTE, ENOEXEC, "exec", "", "%s", message);
	if (write(LAUNCH_FD_REPORT, &r, sizeof(r)) != sizeof(r))
		_exit(95);
}

static int compare_names(const void *a, const void *b)
{
	return atoi(*(char *const *)a) - atoi(*(char *const *)b);
}

/* What every descriptor is, in order, on stdout. */
static void list_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	char *names[64];
	const struct dirent *entry;
	size_t n = 0;

	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(d) && n < ARRAY_SIZE(names))
			names[n++] = strdup(entry->d_name);
	qsort(names, n, sizeof(names[0]), compare_names);
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int flags = fcntl(atoi(names[i]), F_GETFL);

		fstat(atoi(names[i]), &st);
		if (atoi(names[i]) >= LAUNCH_FD_CGROUP)
			dprintf(1, "%s\n", S_ISREG(st.st_mode) && (flags & O_ACCMODE) == O_WRONLY ? "cgroup" : "?");
		else
			dprintf(1, "%s %s%s\n", names[i],
				S_ISREG(st.st_mode)    ? "memory"
				: S_ISFIFO(st.st_mode) ? "pipe"
				: S_ISSOCK(st.st_mode) ? "socket"
				: S_ISDIR(st.st_mode)  ? "folder"
				: st.st_rdev == 0x103  ? "null"
						       : "?",
				flags & O_PATH ? " path" : "");
	}
	closedir(d);
}

/* pid 1 of the session: a child of isod, as the real one. */
static pid_t make_pid1(void)
{
	return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
}

static int pid1_sleeps(void)
{
	char byte;

	close(LAUNCH_FD_REPORT);
	return read(LAUNCH_FD_LINK, &byte, 1) != 0;
}

static int launch(void)
{
	const struct launch_context *context;
	struct plan plan;
	const void *data;
	void *block;
	size_t len;
	const char *what;
	pid_t pid;

	if (fd_sealed_map(LAUNCH_FD_PLAN, LIMIT_PLAN, &data, &len) < 0 ||
	    plan_decode(data, len, &plan, &block, NULL) < 0)
		return 96;
	if (fd_sealed_map(LAUNCH_FD_CONTEXT, LIMIT_PLAN, &data, &len) < 0)
		return 97;
	context = data;
	if (context->size != len || context->uid != plan.uid || HAS_ENVIRONMENT)
		return 98;
	what = plan.argv[0];
	if (strcmp(what, "die") == 0)
		return 3;
	if (strcmp(what, "not-ours") == 0) {
		report(REPORT_PID1, getppid(), NULL);
		return 0;
	}
	if (strcmp(what, "fail") == 0) {
		report(REPORT_FAILED, 0, "This is no program.");
		return 1;
	}
	if (strcmp(what, "list") == 0) {
		list_descriptors();
		dup2(0, 1);
		dup2(0, 2);
	}
	pid = make_pid1();
	if (pid == 0)
		_exit(strcmp(what, "quick") == 0 ? 0 : pid1_sleeps());
	report(REPORT_PID1, pid, NULL);
	if (strcmp(what, "fail-late") == 0)
		report(REPORT_FAILED, 0, "This went wrong late.");
	return 0;
}

/* ---- isod-session ---- */

static int session(void)
{
	const struct session_context *context;
	const void *data;
	size_t len;
	struct pollfd ends[] = { { SESSION_FD_CONTROL, POLLIN, 0 }, { SESSION_FD_LINK, POLLIN, 0 } };

	if (fd_sealed_map(SESSION_FD_EGRESS, 4096, &data, &len) < 0 || memcmp(data, "die", len) == 0)
		return 5;
	if (fd_sealed_map(SESSION_FD_CONTEXT, 4096, &data, &len) < 0)
		return 6;
	context = data;
	if (context->size != sizeof(*context) || strcmp(context->id, ID) != 0 || HAS_ENVIRONMENT)
		return 7;
	/* Both are sockets whose other end says nothing: either one's end is the end. */
	poll(ends, 2, -1);
	return 0;
}

int main(int argc, char **argv)
{
	if (strcmp(argv[0], "isod-control") == 0)
		return control(argc, argv);
	return strcmp(argv[0], "isod-launch") == 0 ? launch() : session();
}
