#include "daemon/linux/watch/launch_watch_kept.h"

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/cleanup.h"
#include "base/fd.h"

bool launch_watch_kept(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statx st;
	struct statvfs fs;

	/* A link that leads nowhere, or out of the grants, is not locked from the beginning. */
	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0 || S_ISLNK(st.stx_mode))
		return true;
	if (st.stx_attributes & st.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT)
		return true;
	return fstatvfs(fd, &fs) < 0 || fs.f_flag & ST_RDONLY;
}
