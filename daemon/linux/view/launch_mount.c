#include "daemon/linux/view/launch_mount.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/fd.h"
#include "daemon/linux/launch/launch_sys.h"

#define SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

struct option {
	const char *key;
	char value[24];
};

static int mount_new(const char *type, const struct option *options, size_t n, unsigned attributes)
{
	_cleanup_close_ int fs = launch_sys_fsopen(type);
	int r = fs < 0 ? fs : 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = launch_sys_fsconfig_string(fs, options[i].key, options[i].value);
	if (r == 0)
		r = launch_sys_fsconfig_create(fs);
	return r < 0 ? r : launch_sys_fsmount(fs, attributes);
}

int launch_mount_tmpfs(const struct launch_mount_tmpfs *o)
{
	struct option options[4] = { { "mode", "" }, { "uid", "" }, { "gid", "" }, { "size", "" } };

	snprintf(options[0].value, sizeof(options[0].value), "%o", o->mode);
	snprintf(options[1].value, sizeof(options[1].value), "%u", o->uid);
	snprintf(options[2].value, sizeof(options[2].value), "%u", o->gid);
	snprintf(options[3].value, sizeof(options[3].value), "%" PRIu64, o->size);
	return mount_new("tmpfs", options, o->size > 0 ? 4 : 3, o->attributes);
}

int launch_mount_proc(gid_t exempt)
{
	/* Without the second option group 0 is exempt. */
	struct option options[] = { { "hidepid", "invisible" }, { "gid", "" } };

	snprintf(options[1].value, sizeof(options[1].value), "%u", exempt);
	return mount_new("proc", options, ARRAY_SIZE(options), SAFE);
}

int launch_mount_sysfs(void)
{
	return mount_new("sysfs", NULL, 0, SAFE | MOUNT_ATTR_RDONLY);
}

int launch_mount_devpts(uid_t uid, gid_t gid)
{
	struct option options[] = {
		{ "mode", "0620" }, { "ptmxmode", "0666" }, { "uid", "" }, { "gid", "" }, { "max", "1024" }
	};

	snprintf(options[2].value, sizeof(options[2].value), "%u", uid);
	snprintf(options[3].value, sizeof(options[3].value), "%u", gid);
	/* Not nodev: the slaves and ptmx are devices. */
	return mount_new("devpts", options, ARRAY_SIZE(options), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}
