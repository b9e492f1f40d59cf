#include "daemon/control/rights.h"

#include <errno.h>
#include <grp.h>
#include <stdbool.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"

static int failed(struct error *e, int err, const char *what)
{
	return error_set(e, ERROR_INTERNAL, err, "give up rights", NULL, "isod-control cannot give up its rights: %s.",
			 what);
}

static int change_ids(uid_t uid, gid_t gid, struct error *e)
{
	uid_t ids[3];
	gid_t gids[3];

	if (geteuid() == 0) {
		for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
			if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
				return failed(e, errno, "bounding set");
		if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
			return failed(e, errno, "ids");
	}
	if (getresuid(&ids[0], &ids[1], &ids[2]) < 0 || getresgid(&gids[0], &gids[1], &gids[2]) < 0)
		return failed(e, errno, "ids");
	for (int i = 0; i < 3; i++)
		if (ids[i] != uid || gids[i] != gid)
			return failed(e, EPERM, "they are not those asked for");
	/* A group of root's would open more than uid and gid say. */
	if (getgroups(0, NULL) > 0) {
		gid_t group;

		if (getgroups(1, &group) != 1 || group != gid)
			return failed(e, EPERM, "supplementary groups are left");
	}
	return setuid(0) == 0 ? failed(e, EPERM, "root can be had back") : 0;
}

static int check_capabilities(struct error *e)
{
	cap_t have = cap_get_proc(), none = cap_init();
	bool clean = have && none && cap_compare(have, none) == 0;

	cap_free(have);
	cap_free(none);
	return clean ? 0 : failed(e, EPERM, "capabilities are left");
}

int rights_drop(uid_t uid, gid_t gid, struct error *e)
{
	int r;

	if (uid == 0 || gid == 0)
		return failed(e, EINVAL, "it must run as a user of its own, not as root");
	r = change_ids(uid, gid, e);
	if (r == 0)
		r = check_capabilities(e);
	if (r < 0)
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return failed(e, errno, "no_new_privs");
	return 0;
}
