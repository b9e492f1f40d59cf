#ifndef ISOD_MONITOR_SESSION_EXEC_H
#define ISOD_MONITOR_SESSION_EXEC_H
/* One more command in a session that runs (CONTROL_EXEC): isod checks who asks and for what, starts isod-launch with
 * what it kept of the session's start, and reaps it. All else is between isod-launch and isod-control (exec_wire.h). */
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

struct control_message;
struct monitor;
struct session;
struct session_exec;

/* In struct session. */
struct session_join {
	int plan;    /* sealed, as isod-control sent it; -1 */
	int context; /* sealed struct launch_context */
	bool nesting;
	LIST_HEAD(, session_exec) running;
	unsigned n_running;
};

void session_join_init(struct session *s);
/* Keeps copies. 0 or -errno. */
int session_join_keep(struct session *s, int plan, int context, bool nesting);
/* SIGKILL to the launchers that wait for a command. */
void session_join_kill(struct session *s);
void session_join_done(struct session *s);

/* As a handler of control_link.c: 0, or -EPROTO where control cannot mean it. */
int session_exec(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);

#endif
