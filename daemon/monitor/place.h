#ifndef ISOD_MONITOR_PLACE_H
#define ISOD_MONITOR_PLACE_H
/* The folders of isod, each made and checked once and from then on used by descriptor. */
#include <sys/types.h>

#include "base/error.h"
#include "base/limits.h"
#include "daemon/linux/cgroup/cgroup.h"

struct place {
	int run;      /* root 0755 */
	int lock;     /* run/isod.lock, held as long as isod lives */
	int sessions; /* state/sessions, root 0700, locked too: scratch folders, one a session, on disk */
	int layers;   /* state/layers, root 0700: what outlives its session (layers.h) */
	int audit;    /* state/audit, of the control user, 0700; O_PATH */
	int config;   /* the administrator's folder, O_PATH; made where there is none */
	char tag[CGROUP_TAG_LEN + 1]; /* tells this instance's cgroups from another's */
};

#define PLACE_INIT                                                                                                     \
	{                                                                                                              \
		.run = -1, .lock = -1, .sessions = -1, .layers = -1, .audit = -1, .config = -1                         \
	}

/* 0, or -errno with *e; a second isod on the same folders is -EWOULDBLOCK. Reset by place_close() in either case. */
int place_open(struct place *p, const char *run_dir, const char *state_dir, const char *config_dir, uid_t control_uid,
	       gid_t control_gid, struct error *e);
void place_close(struct place *p);

/* Removes the scratch folders of an earlier run. Blocks; returns -errno of the first that stayed. */
int place_sweep_sessions(const struct place *p);

#endif
