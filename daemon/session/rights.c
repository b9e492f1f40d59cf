#include "daemon/session/rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/session/rights_stages.h"

/* Gives up: every capability that an exec could bring back. Must come while CAP_SETPCAP is there. */
static int drop_bounding(const struct rights *rights)
{
	if (geteuid() != 0)
		return 0;
	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap) < 0 || prctl(PR_CAPBSET_READ, cap) != 0)
			return -EPERM;
	return 0;
}

/* Gives up: uid 0 and all groups. Keeps: the isod-net ids, which own nothing. */
static int drop_ids(const struct rights *rights)
{
	uid_t uid = rights->context->net_uid, r, e, s;
	gid_t gid = rights->context->net_gid, rg, eg, sg;

	if (uid == 0 || gid == 0)
		return -EINVAL;
	if (geteuid() == 0 && (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0))
		return -errno;
	if (getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0)
		return -errno;
	if (r != uid || e != uid || s != uid || rg != gid || eg != gid || sg != gid || setuid(0) == 0)
		return -EPERM;
	return 0;
}

/* Gives up: every capability in every set of the process. */
static int drop_capabilities(const struct rights *rights)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 }, now[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capset, &header, none) < 0 || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capget, &header, now) < 0)
		return -errno;
	return memcmp(none, now, sizeof(none)) == 0 ? 0 : -EPERM;
}

/* Gives up: gaining rights by exec; being traced, dumped or read through /proc by others of its uid. */
static int close_doors(const struct rights *rights)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -EPERM;
}

static const struct {
	const char *name;
	int (*run)(const struct rights *rights);
} stages[] = {
	{ "drop the bounding set", drop_bounding },
	{ "drop user and groups", drop_ids },
	{ "drop capabilities", drop_capabilities },
	{ "no new privileges", close_doors },
	{ "Landlock", rights_landlock },
	{ "seccomp", rights_seccomp },
};

int rights_drop(const struct rights *rights, struct error *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(stages); i++) {
		int r = stages[i].run(rights);

		if (r < 0)
			return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, stages[i].name, "",
					 "isod-session cannot give up its rights: %s.", strerror(-r));
	}
	return 0;
}
