#include "daemon/linux/late/late_pins.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BPF_FILE_SYSTEM "/sys/fs/bpf"

void late_pins_path(const char *tag, char *ret, size_t size)
{
	snprintf(ret, size, BPF_FILE_SYSTEM "/isod-%s", tag);
}

int late_pins_make(const char *path)
{
	struct statfs fs;
	int r;

	if (statfs(BPF_FILE_SYSTEM, &fs) < 0)
		return -errno;
	if ((unsigned long)fs.f_type != BPF_FS_MAGIC)
		return -ENODEV;
	r = late_pins_remove(path);
	if (r < 0)
		return r;
	return mkdir(path, 0700) < 0 ? -errno : 0;
}

int late_pins_remove(const char *path)
{
	_cleanup_closedir_ DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && unlinkat(dirfd(dir), entry->d_name, 0) < 0)
			return -errno;
	return rmdir(path) < 0 ? -errno : 0;
}
