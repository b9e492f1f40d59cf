#include "daemon/proxy/proxy_rights.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define USER "isod-net"

static int become(const struct passwd *entry)
{
	uid_t uid = entry->pw_uid, r, e, s;
	gid_t gid = entry->pw_gid, rg, eg, sg;

	if (uid == 0 || gid == 0)
		return -EINVAL;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    getresuid(&r, &e, &s) < 0 || getresgid(&rg, &eg, &sg) < 0)
		return -errno;
	if (r != uid || e != uid || s != uid || rg != gid || eg != gid || sg != gid || setuid(0) == 0)
		return -EPERM;
	return 0;
}

/* The kernel takes them with the ids; this is to know. */
static int has_none(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3], now[_LINUX_CAPABILITY_U32S_3];

	memset(none, 0, sizeof(none));
	memset(now, 0, sizeof(now));
	if (syscall(SYS_capset, &header, none) < 0 || syscall(SYS_capget, &header, now) < 0)
		return -errno;
	return memcmp(none, now, sizeof(none)) == 0 ? 0 : -EPERM;
}

int proxy_rights_drop(struct error *e)
{
	const struct passwd *entry;
	int r;

	if (geteuid() != 0)
		return 0;
	entry = getpwnam(USER);
	if (!entry)
		return error_set(e, ERROR_REFUSED, ENOENT, "rights",
				 "Install isod, or start it as another user than root.",
				 "There is no user %s for it to run as.", USER);
	r = become(entry);
	if (r == 0)
		r = has_none();
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = -errno;
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "rights", NULL, "Root's rights cannot be given up: %s.",
				 strerror(-r))
		     : 0;
}
