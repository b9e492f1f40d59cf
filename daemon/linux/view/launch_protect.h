#ifndef ISOD_LINUX_LAUNCH_PROTECT_H
#define ISOD_LINUX_LAUNCH_PROTECT_H
/* Covering and locking what a path of the view leads to, whatever somebody on the host does to it meanwhile. */
#include "daemon/launch/launch.h"

enum launch_protection {
	LAUNCH_COVER,          /* cannot be read, written, listed */
	LAUNCH_LOCK,           /* cannot be renamed nor removed */
	LAUNCH_LOCK_READ_ONLY, /* nor written, with all below */
};

/*
 * What path leads to in the view is covered or locked where the rules mean what is there, and looked up again to see
 * that it is. A symlink is followed inside the view, and what it leads to is protected where it is one of the user's
 * own files (a grant); a lock holds the link, too. Mounts of the plan below stay as they are. What is not there needs
 * nothing. 0; -errno with *e filled, also where path does not stand still.
 */
int launch_protect_path(struct launch *l, const char *path, enum launch_protection how, struct error *e);
/* The same for the last name of path in an open folder, wherever that is moved meanwhile; a link is followed by path.
 */
int launch_protect_in(struct launch *l, int folder, const char *path, enum launch_protection how, struct error *e);

/* Forgets l->anew. */
void launch_protect_forget_anew(struct launch *l);

/* The mounts of the plan below a path, taken aside while something is mounted over it. */
struct launch_deeper {
	struct {
		const struct launch_target *target;
		int fd; /* a copy with all below */
	} * mounts;
	size_t n;
};

int launch_protect_lift(struct launch *l, const char *path, struct launch_deeper *ret, struct error *e);
int launch_protect_put_back(struct launch *l, struct launch_deeper *d, struct error *e);
/* Always, after the first of the three, also where it failed. */
void launch_protect_deeper_done(struct launch_deeper *d);

#endif
