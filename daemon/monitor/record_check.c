#include "daemon/monitor/record_check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/cleanup.h"

/* File systems whose files are the kernel's. */
static const unsigned long kernels[] = {
	PROC_SUPER_MAGIC, SYSFS_MAGIC,      CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
	TRACEFS_MAGIC,    SECURITYFS_MAGIC, SELINUX_MAGIC,      BPF_FS_MAGIC,
};

static bool is_kernels(int fd)
{
	struct statfs s;

	if (fstatfs(fd, &s) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++)
		if ((unsigned long)s.f_type == kernels[i])
			return true;
	return false;
}

int record_check(int fd, struct error *e)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (flags & O_ACCMODE) != O_WRONLY ||
	    !(flags & O_APPEND) || flags & O_PATH || is_kernels(fd))
		return error_set(e, ERROR_REFUSED, EPERM, "record",
				 "Name a file of a disk, as isoctl run --record does.",
				 "What was given for the recording is no file that is open for appending alone.");
	return 0;
}
