#include "daemon/linux/launch/launch_rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/wire/context.h"

/* Above any that will exist: the sets are 64 bits wide. */
#define CAPABILITY_END 64
#define SECUREBITS                                                                                                     \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |               \
	 SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int launch_rights_bounding(void)
{
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return -errno;
	for (int cap = 0; cap < CAPABILITY_END; cap++) {
		int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);

		/* EINVAL: the kernel has no such capability, and none above it. */
		if (has < 0)
			return errno == EINVAL && cap > CAP_SETFCAP ? 0 : -errno;
		if (has != 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
		if ((has != 0 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0) ||
		    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) != 0)
			return -EPERM;
	}
	return 0;
}

int launch_rights_securebits(void)
{
	if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == SECUREBITS ? 0 : -EPERM;
}

static int verify_groups(const struct launch_ids *ids)
{
	_cleanup_free_ gid_t *groups = NULL;
	int n = getgroups(0, NULL);

	if (n < 0)
		return -errno;
	if ((size_t)n != ids->n_groups)
		return -EPERM;
	if (n == 0)
		return 0;
	groups = calloc((size_t)n, sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	if (getgroups(n, groups) != n)
		return -errno;
	return memcmp(groups, ids->groups, (size_t)n * sizeof(*groups)) == 0 ? 0 : -EPERM;
}

static int verify_ids(const struct launch_ids *ids)
{
	uid_t ruid, euid, suid;
	gid_t rgid, egid, sgid;

	if (getresuid(&ruid, &euid, &suid) < 0 || getresgid(&rgid, &egid, &sgid) < 0)
		return -errno;
	if (ruid != ids->real_uid || euid != ids->effective_uid || suid != ids->saved_uid)
		return -EPERM;
	if (rgid != ids->real_gid || egid != ids->effective_gid || sgid != ids->saved_gid)
		return -EPERM;
	return verify_groups(ids);
}

int launch_rights_ids(const struct launch_ids *ids)
{
	if (setgroups(ids->n_groups, ids->groups) < 0)
		return -errno;
	if (setresgid(ids->real_gid, ids->effective_gid, ids->saved_gid) < 0)
		return -errno;
	if (setresuid(ids->real_uid, ids->effective_uid, ids->saved_uid) < 0)
		return -errno;
	return verify_ids(ids);
}

int launch_rights_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 }, got[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capset, &header, none) < 0)
		return -errno;
	if (syscall(SYS_capget, &header, got) < 0)
		return -errno;
	return memcmp(none, got, sizeof(none)) == 0 ? 0 : -EPERM;
}

int launch_rights_no_new_privs(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : -EPERM;
}

int launch_rights_not_dumpable(void)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : -EPERM;
}

int launch_rights_watcher(const struct launch_context *c)
{
	struct launch_ids ids = {
		.real_uid = c->net_uid,
		.effective_uid = c->uid,
		.saved_uid = c->net_uid,
		.real_gid = c->net_gid,
		.effective_gid = c->gid,
		.saved_gid = c->net_gid,
	};
	int r = launch_rights_no_new_privs();

	if (r == 0)
		r = launch_rights_securebits();
	if (r == 0)
		r = launch_rights_ids(&ids);
	if (r == 0)
		r = launch_rights_capabilities();
	return r < 0 ? r : launch_rights_not_dumpable();
}
