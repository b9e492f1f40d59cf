#include "daemon/linux/probe/probe_rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct {
	uint8_t number;
	uint8_t need; /* enum probe_rights */
	const char *name;
} table[] = {
	{ CAP_CHOWN, PROBE_RIGHTS_START, "CAP_CHOWN" },               /* folders of isod-control and of sessions */
	{ CAP_DAC_OVERRIDE, PROBE_RIGHTS_START, "CAP_DAC_OVERRIDE" }, /* the same, afterwards */
	{ CAP_SETUID, PROBE_RIGHTS_START, "CAP_SETUID" },             /* helpers and programs under other users */
	{ CAP_SETGID, PROBE_RIGHTS_START, "CAP_SETGID" },
	{ CAP_SETPCAP, PROBE_RIGHTS_START, "CAP_SETPCAP" },       /* to empty bounding sets */
	{ CAP_KILL, PROBE_RIGHTS_START, "CAP_KILL" },             /* to end what runs under other users */
	{ CAP_SYS_ADMIN, PROBE_RIGHTS_SESSION, "CAP_SYS_ADMIN" }, /* namespaces and mounts */
	{ CAP_NET_ADMIN, PROBE_RIGHTS_SESSION, "CAP_NET_ADMIN" }, /* lo, the route, the ruleset */
	{ CAP_MKNOD, PROBE_RIGHTS_SESSION, "CAP_MKNOD" },         /* /dev */
	{ CAP_FOWNER, PROBE_RIGHTS_SESSION, "CAP_FOWNER" },       /* modes of folders that belong to the caller */
};

int probe_rights_check(enum probe_rights need, struct error *e)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[2] = { 0 };
	char missing[ERROR_MESSAGE_MAX / 2] = "";
	size_t len = 0;

	if (syscall(SYS_capget, &header, sets) < 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, errno, "capabilities of isod", "",
				 "The capabilities of isod cannot be read: %s.", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (table[i].need == need && !(sets[0].effective & 1U << table[i].number))
			len += (size_t)snprintf(missing + len, sizeof(missing) - len, "%s%s", len ? ", " : "",
						table[i].name);
	if (len == 0)
		return 0;
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, EPERM, "capabilities of isod",
			 "Start isod as root; in a container, add these capabilities to it.",
			 "isod runs without what it needs to build a sandbox: %s.", missing);
}
