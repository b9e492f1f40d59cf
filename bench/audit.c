/*
 * bench_audit: connections through a session's channel into its audit file, as fast as they go; the figure of a whole
 * isod-control, with a sender in a thread of its own. bench_audit FOLDER N: an audit folder of N sessions.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"

/* What one file takes. */
#define EVENTS 60000

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Arguments in loop: one open session. */
static struct session *make_session(struct control *c, uint32_t uid)
{
	static const char *const argv[] = { "true", NULL };
	struct session *s = session_new(c, uid);

	if (!s)
		fail("session");
	s->project = strdup("/home/someone/project");
	if (audit_start(s, argv, 1) < 0)
		fail("audit_start");
	return s;
}

static void *sender(void *data)
{
	const int fd = *(int *)data;
	struct session_connection m = { .type = SESSION_CONNECTION,
					.via = VIA_CONNECT,
					.reason = EGRESS_NOT_LISTED,
					.rule = UINT32_MAX,
					.protocol = IPPROTO_TCP,
					.port = 443,
					.pid = 12,
					.count = 1,
					.name = "evil.example",
					.program = "/usr/bin/curl" };

	for (int i = 0; i < EVENTS; i++)
		if (send(fd, &m, sizeof(m), 0) < 0)
			fail("send");
	return NULL;
}

static void measure_events(struct control *c)
{
	struct session *s = make_session(c, 1000);
	pthread_t thread;
	double begin, cpu;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		fail("socketpair");
	s->state = SESSION_RUNNING;
	if (session_link_open(&s->link, s, pair[0]) < 0)
		fail("link");
	begin = seconds(CLOCK_MONOTONIC);
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID);
	if (pthread_create(&thread, NULL, sender, &pair[1]) != 0)
		fail("thread");
	while (s->audit.written.seq < EVENTS + 1 && s->audit.full == 0)
		uv_run(c->loop, UV_RUN_ONCE);
	begin = seconds(CLOCK_MONOTONIC) - begin;
	cpu = seconds(CLOCK_THREAD_CPUTIME_ID) - cpu;
	pthread_join(thread, NULL);
	printf("%-44s %9.0f a second (%.0f of a CPU's), %llu lines of %lld bytes, %llu lost\n",
	       "events, channel to file", EVENTS / begin, EVENTS / cpu, (unsigned long long)s->audit.written.seq,
	       (long long)s->audit.size, (unsigned long long)s->audit.lost);
	close(pair[1]);
	registry_add(&c->registry, s);
}

static void make_folder(struct control *c, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct session *s = make_session(c, 2000 + i % 100);
		struct session_connection m = { .type = SESSION_CONNECTION,
						.via = VIA_CONNECT,
						.allowed = i % 10 != 0,
						.rule = UINT32_MAX,
						.port = 443,
						.count = 1,
						.program = "/usr/bin/curl" };

		snprintf(m.name, sizeof(m.name), "%s", i == n / 2 ? "rare.example" : "api.example");
		m.reason = m.allowed ? EGRESS_ALLOWED : EGRESS_NOT_LISTED;
		audit_connection(s, &m);
		s->exit_kind = EXIT_KIND_CODE;
		s->ended = s->started + 5;
		audit_exit(s);
		audit_close_now(&c->audit, &s->audit, 0);
		session_release(s);
		if (i % 1000 == 999)
			uv_run(c->loop, UV_RUN_NOWAIT);
	}
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/isod-bench-audit.XXXXXX", command[64];
	static struct control control;
	uv_loop_t loop;
	int pair[2];

	log_open("bench", LOG_LEVEL_WARNING);
	if ((argc < 3 && !mkdtemp(dir)) || uv_loop_init(&loop) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		fail("set-up");
	if (control_open(&control, &loop, pair[0], open(argc < 3 ? dir : argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC),
			 open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		fail("control");
	if (argc < 3)
		measure_events(&control);
	else
		make_folder(&control, (unsigned)strtoul(argv[2], NULL, 10));
	if (argc < 3) {
		snprintf(command, sizeof(command), "rm -rf -- '%s'", dir);
		return system(command) != 0;
	}
	return 0;
}
