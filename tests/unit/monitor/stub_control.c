/* What isod-control says and must not say; the scenarios of test_isod.c. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/wire/control_wire.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/plan.h"
#include "tests/unit/monitor/stub_control.h"

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

	memcpy(m.id, STUB_ID, sizeof(STUB_ID));
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
	int plan = make_plan(what, m.uid, STUB_ID, 0);

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
			/* Not by closing it: isod has it, too. */
			if (leave_it)
				shutdown(fd, SHUT_RDWR);
			m = (struct control_message){ .type = CONTROL_KILL };
			memcpy(m.id, STUB_ID, sizeof(STUB_ID));
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
	start("hang", "die");
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

	send_start(&m, make_plan("sleep", m.uid, STUB_ID, 0), "x", memfd_create("file", MFD_CLOEXEC));
	follow(false, false);
}

static void run_bad_limit(void)
{
	struct control_message m = start_message();

	/* No kernel has so many. */
	m.limits.pids = UINT32_MAX;
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
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
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_of_other_uid(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid + 1, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_of_other_id(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid, "00000000000b", 0), "x", open("/dev/null", O_RDWR));
}

static void run_plan_nests_in_secret(void)
{
	struct control_message m = start_message();

	send_start(&m, make_plan("quick", m.uid, STUB_ID, PLAN_NESTING), "x", open("/dev/null", O_RDWR));
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
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
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
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_same_id_twice(void)
{
	start("sleep", "x");
	start("sleep", "x");
}

static void run_few_fds(void)
{
	struct control_message m = start_message();
	int fds[] = { make_plan("quick", m.uid, STUB_ID, 0), output[1] };

	fd_pass_send(CONTROL_FD_MONITOR, &m, sizeof(m), fds, 2);
}

static void run_unknown_flags(void)
{
	struct control_message m = start_message();

	m.flags = 1u << 31;
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
}

static void run_tls_to_nothing(void)
{
	struct control_message m = start_message();

	m.flags = CONTROL_START_PROXY_TLS;
	send_start(&m, make_plan("quick", m.uid, STUB_ID, 0), "x", open("/dev/null", O_RDWR));
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

static void run_leave_many_running(void)
{
	for (int i = 0; i < 8; i++) {
		struct control_message m = start_message();
		int plan;

		m.id[ISOD_ID_LEN - 1] = (char)('0' + i);
		plan = make_plan("sleep", m.uid, m.id, 0);
		send_start(&m, plan, "x", open("/dev/null", O_RDWR));
		fd_close(plan);
	}
	for (int i = 0; i < 8; i++) {
		struct control_message m;
		int fd;

		receive(&m, &fd);
		if (m.type != CONTROL_SESSION_STARTED)
			say("not started\n");
	}
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
	{ "tls-to-nothing", run_tls_to_nothing, true },
	{ "leave-running", run_leave_running, false },
	{ "leave-many-running", run_leave_many_running, false },
	{ "count", run_count, false },
	{ "crash-with-session", run_crash_with_session, true },
};

int stub_control(int argc, char **argv)
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
		/* An answer is not what should come of it: only isod's hanging up ends this. */
		while (scenarios[i].is_fatal)
			receive(&hello, &fd);
		say(".\n");
	}
	receive(&hello, &fd);
	return 0;
}
