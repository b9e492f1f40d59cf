#ifndef ISOD_MONITOR_SESSION_H
#define ISOD_MONITOR_SESSION_H
/*
 * One session as isod sees it: three processes, a control group, a scratch folder.
 *
 *   STARTING   isod-launch and isod-session run, reports are read. Exec succeeded: CONTROL_SESSION_STARTED, RUNNING.
 *              A report of failure, the death of a helper, the time limit: ENDING.
 *   RUNNING    until pid 1 or isod-session ends, or somebody wants it ended: ENDING.
 *   ENDING     everything was told to die. isod-session has a while to hand over its last bytes. All reaped: CLEANING.
 *   CLEANING   the control group and the scratch folder go. Then CONTROL_SESSION_FAILED or CONTROL_SESSION_ENDED, and,
 *              of one that was kept once isod-control has written that down, the record leaves the list: GONE, freed
 *              once its handles are closed.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "base/limits.h"
#include "daemon/linux/cgroup/cgroup.h"
#include "daemon/monitor/child.h"
#include "daemon/monitor/late.h"
#include "daemon/monitor/session_exec.h"
#include "daemon/wire/report.h"

struct etc_layer;
struct monitor;
struct peer;

/* What isod-control has left here for the one after it (keep.h). */
struct keep {
	bool there;        /* the session outlives isod-control */
	int state, client; /* of CONTROL_KEEP, never read here; client: or -1 */
	unsigned adopted;  /* how many isod-controls were given it in a row and died soon */
	bool told;         /* CONTROL_SESSION_ENDED was sent: CONTROL_SESSION_DONE will come */
};

enum session_state { SESSION_STARTING, SESSION_RUNNING, SESSION_ENDING, SESSION_CLEANING, SESSION_GONE };

struct session {
	LIST_ENTRY(session) link;
	struct monitor *monitor;
	uint64_t generation; /* of the control that asked for it */
	enum session_state state;
	char id[ISOD_ID_LEN + 4];
	uid_t uid;
	struct child launch; /* the outer process */
	struct child pid1;
	struct child helper; /* isod-session */
	struct session_join join;
	uv_poll_t report;
	int report_fd; /* -1 once its end was read */
	bool was_started;
	LIST_HEAD(, layer_wait) layer_waits; /* calls that wait for its end (layer_call.c) */
	bool keeps_layer;                    /* layers.h: removed again where the program never ran */
	int control_end; /* isod-control's end of its channel to isod-session: every isod-control gets this one, and
			    what was not read from it stays in it */
	struct keep keep;
	struct error error;
	uint32_t late_key; /* of its record in the late guard; 0 = none */
	struct late_telling late_telling;
	uv_timer_t timer;
	struct etc_layer *etc;
	struct cgroup_leaf cgroup;
	unsigned cgroup_tries;
	uv_work_t work;
	int work_result;  /* written by the thread of the pool */
	int scratch_left; /* the result once the pool is done, -EINPROGRESS before; the loop alone writes it */
};

struct sessions {
	LIST_HEAD(, session) list;
	unsigned count; /* with those that have left the list and are not freed yet */
};

#define SESSIONS_INIT                                                                                                  \
	{                                                                                                              \
		.count = 0                                                                                             \
	}

struct session *sessions_find(struct sessions *sessions, const char *id);
unsigned sessions_count_of(const struct sessions *sessions, uid_t uid);

/* A record with its handles, in the list, STARTING, nothing running yet. NULL without memory. */
struct session *session_new(struct monitor *m, const char *id, uid_t uid);
/* Reads the launcher's reports from fd, which it takes, and watches the time. */
void session_watch_reports(struct session *s, int fd);
/* What is due now; for who has seen one of its processes end. */
void session_settle(struct session *s);
/* The three on_exit callbacks of its children lead here. */
void session_child_ended(struct child *child);
/* Ends it, whatever its state. Idempotent. e: why, or NULL; the first reason of a start is what control is told. */
void session_end(struct session *s, const struct error *e);
void sessions_end_all(struct monitor *m);
/* Goes on where it waited for isod-control: another one is there, or none will be. */
void session_go_on(struct session *s);
/* No process of the view is left; what isod still has to clear away may take a while. */
bool session_is_over(const struct session *s);

#endif
