#ifndef ISOD_MONITOR_H
#define ISOD_MONITOR_H
/* The whole of isod: one of these, made by main(), reached from every object. */
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <uv.h>

#include "base/error.h"
#include "daemon/linux/cgroup/cgroup.h"
#include "daemon/linux/probe/probe.h"
#include "daemon/monitor/control_link.h"
#include "daemon/monitor/etc_layers.h"
#include "daemon/monitor/late.h"
#include "daemon/monitor/listener.h"
#include "daemon/monitor/options.h"
#include "daemon/monitor/peers.h"
#include "daemon/monitor/place.h"
#include "daemon/monitor/session.h"

/* A user that a helper becomes. */
struct monitor_user {
	uid_t uid;
	gid_t gid;
};

/* Sealed memory files, the same for every session, made once. */
struct monitor_files {
	int ruleset;
	int seccomp;
	int seccomp_nesting;
	int seccomp_session; /* of isod-session itself */
	int null;
};

struct monitor {
	uv_loop_t loop;
	struct options options;
	struct monitor_user control_user;
	struct monitor_user net_user;
	struct place place;
	struct monitor_files files;
	struct etc_layers etc;
	struct cgroup_host cgroups;
	struct probe probe;
	struct late late;
	rlim_t files_soft; /* RLIMIT_NOFILE as isod was started with */
	struct listener listener;
	struct peers peers;
	struct control_link control;
	struct sessions sessions;
	uv_signal_t terminate;
	uv_signal_t interrupt;
	uv_work_t sweep;
	uv_work_t layers_work; /* removes discarded layers */
	bool layers_sweeping;
	bool layers_again; /* one more was discarded meanwhile */
	bool stopping;
	uint64_t refused_ms; /* when a refused connection was last logged */
	bool failed;         /* isod ends with a non-zero status */
};

/* Everything up to the loop, in order; blocks. 0, or -errno with *e. monitor_done() in either case. */
int monitor_open(struct monitor *m, const struct options *options, struct error *e);
/* Serves until a signal asks to end, all sessions are gone and every handle is closed. 0 or -errno. */
int monitor_run(struct monitor *m, struct error *e);
void monitor_done(struct monitor *m);

/* Control is up or down, its queue is long or short again: accepts accordingly. */
void monitor_update_listener(struct monitor *m);
/* The last session of an ending isod is gone. */
void monitor_session_gone(struct monitor *m);

#endif
