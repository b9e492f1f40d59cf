#ifndef ISOD_LAUNCH_H
#define ISOD_LAUNCH_H
/*
 * isod-launch: makes one session. Three processes come out of one program, each with a step table of its own:
 *
 *   outer    root in the host's namespaces: opens what the session may see. Ends as soon as pid 1 exists.
 *   pid 1    root in new namespaces: builds the view and the network, then keeps nothing and reaps.
 *   program  gives up everything and becomes the caller's command.
 *
 * One struct launch is filled from step to step; each process inherits it from the one before. A step that fails fills
 * a struct error, the process reports it to isod and ends: there is no going on without a step.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/wire/context.h"
#include "daemon/wire/plan.h"

struct path_rules;
struct launch_guard;
struct launch_late;
struct sock_filter;

/* Supplementary groups that a session keeps: the kinds of devices that a policy can name have one or two each. */
#define LAUNCH_GROUPS_MAX 16

/* What the outer process prepared for one mount of the plan. */
struct launch_tree {
	int fd;         /* detached mount, or -1 where the type needs none */
	bool is_dir;    /* of a bound source */
	bool absent;    /* an optional source that does not exist */
	bool read_only; /* an overlay that cannot be made, shown as it is instead; a match */
	bool attached;  /* in the view */
};

/* One path that a pattern of the plan (PLAN_MOUNT_MATCHES, PLAN_MOUNT_DEVICE) stood for on the host. */
struct launch_match {
	char *path;
	uint32_t mount; /* of the plan */
	struct launch_tree tree;
};

/* Where something is mounted in the view: a mount of the plan or a match. */
struct launch_target {
	const char *path;
	const struct plan_mount *mount;
	struct launch_tree *tree;
};

/* Mounts that belong to the session alone: only in these may mount points be created. Kept open until the view is
 * complete, because those that are read-only become so last. */
struct launch_own {
	int fd;
	uint64_t mount_id;
	uint64_t device; /* of its root, which copies of it have, too */
	uint64_t inode;
	bool read_only;
};

struct launch {
	const struct launch_context *context;
	struct plan plan;
	void *plan_block;
	const void *ruleset;
	size_t ruleset_len;
	const struct sock_filter *filter;
	size_t filter_len; /* instructions */

	/* outer */
	struct rlimit nofile;            /* the program's; raised meanwhile, since every source is a descriptor */
	struct launch_tree *trees;       /* one for each mount of the plan */
	gid_t groups[LAUNCH_GROUPS_MAX]; /* the caller's that are kept: the project's, those of granted devices; sorted
					  */
	size_t n_groups;
	gid_t tty_gid;                /* group of pty slaves */
	int etc_layer;                /* where pid 1 makes the overlay of /etc: its upper side; else -1 */
	int group_fd;                 /* folder of the v2 control group that pid 1 is made in; -1 = none */
	int null_fd;                  /* for pid 1's own 0, 1, 2 */
	struct path_rules *rules;     /* of the plan, compiled; NULL where it has none */
	struct launch_match *matches; /* of all patterns */
	size_t n_matches;
	struct launch_target *targets; /* of all mounts and matches, sorted by path (strcmp) */
	size_t n_targets;

	/* pid 1 */
	int proc_fd; /* a procfs of the new pid namespace, not in the view */
	int root_fd; /* the view's root */
	int link_fd;
	struct launch_own *own;
	size_t n_own;
	size_t own_room;
	int *held; /* O_PATH: grants that the late guard must ask about, and mounts made over parts of them */
	size_t n_held;
	int covers_fd;          /* what covers are copied from, while the view is built */
	uint64_t covers_device; /* st_dev of a cover */
	char **anew; /* paths that show other mounts than before, since something was covered or locked: what was found
			below is to be found again */
	size_t n_anew;
	bool late_guard; /* by a step before "protected files": denied names are refused at each open, whatever is here
			  */
	bool lock_guard; /* and so are writes to what the rules keep from being written, in the kernel */
	bool search_guard; /* of all of it: no rule is about what is there at the start alone, so none must be found */
	struct launch_guard *guard; /* NULL: no late guard in the kernel (launch_guard.h) */
	char *caseless;   /* the first granted folder in which names have no case (launch_caseless.h); NULL = none */
	size_t n_covered; /* what the step "protected files" did, and how many folders were beyond its bound */
	size_t n_locked;
	size_t n_not_searched;
	char *unsearched;          /* the first folder that could not be read or named, and why; NULL = none */
	int unsearched_err;        /* errno */
	size_t n_not_kept;         /* the same where the program can write */
	uint64_t *special_devices; /* st_dev of the special filesystems that belong in the view */
	size_t n_special_devices;
	int pty_slave;
	bool pty_leads;           /* the program leads a session of its own with it, as it joins one that runs */
	int ruleset_fd;           /* Landlock, or -1 */
	int children_fd;          /* signalfd */
	int grace_fd;             /* timerfd, not armed before LINK_HANGUP */
	int diag_fd;              /* netlink: whose socket is this */
	int go_fd;                /* write end: the program waits for a byte on the other before it execs */
	pid_t program;            /* as its own namespace counts; leader of a group of its own */
	struct launch_late *late; /* NULL: no rule of the plan is about what may appear later */
};

#define LAUNCH_INIT                                                                                                    \
	{                                                                                                              \
		.etc_layer = -1, .null_fd = -1, .proc_fd = -1, .root_fd = -1, .covers_fd = -1, .link_fd = -1,          \
		.pty_slave = -1, .ruleset_fd = -1, .children_fd = -1, .grace_fd = -1, .diag_fd = -1, .go_fd = -1       \
	}

/* Exit statuses of the three processes where they fail; isod reads the report, these are for people with strace. */
#define LAUNCH_EXIT_FAILED 125
#define LAUNCH_EXIT_CANNOT_EXECUTE 126
#define LAUNCH_EXIT_NOT_FOUND 127

/* The outer process from its first instruction; pid 1 continues in launch_init_main(). Returns an exit status. */
int launch_outer_main(struct launch *l);
/* pid 1 of the session. */
int launch_init_main(struct launch *l);
/* The program's process, just after fork; report: its copy of the report pipe, go: read end. Returns only on failure.
 */
int launch_program_main(struct launch *l, int report, int go);

#endif
