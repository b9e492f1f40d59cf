#include "daemon/linux/view/launch_caseless.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"
#include "view/path_rules.h"

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* Looks that agree, on a file system that may be without case. */
#define TIMES 64

bool launch_caseless_type(uint64_t magic)
{
	/* FAT, exFAT, NTFS by two drivers, SMB 1 and 2, HFS, HFS+, 9P (a folder of Windows is one in WSL) */
	static const uint64_t types[] = { 0x4d44,     0x2011bab0, 0x5346544e, 0x7366746e, 0xff534d42,
					  0xfe534d42, 0x4244,     0x482b,     0x01021997 };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (types[i] == (magic & UINT32_MAX))
			return true;
	return false;
}

/* The name with its first letter the other way; false: it has none. */
static bool turn_letter(const char *name, char ret[LIMIT_NAME])
{
	if (snprintf(ret, LIMIT_NAME, "%s", name) >= LIMIT_NAME)
		return false;
	for (char *c = ret; *c; c++)
		if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z')) {
			*c ^= 'a' ^ 'A';
			return true;
		}
	return false;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* By one name and the same with a letter turned. Somebody who renames the file between the two looks makes it seem that
 * there is no other: so the first one is looked at again, as often as must be in a row. */
static int try_name(int fd, const char *name, int times)
{
	struct stat st, now;
	char other[LIMIT_NAME];

	if (!turn_letter(name, other))
		return LAUNCH_CASELESS_UNKNOWN;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return LAUNCH_CASELESS_UNKNOWN;
	for (int i = 0; i < times; i++) {
		if (fstatat(fd, other, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(&now, &st))
			/* Two names of one file there may be with case as well. */
			return st.st_nlink == 1 || S_ISDIR(st.st_mode) ? LAUNCH_CASELESS_YES : LAUNCH_CASELESS_UNKNOWN;
		if (fstatat(fd, name, &now, AT_SYMLINK_NOFOLLOW) < 0 || !is_same(&now, &st))
			return LAUNCH_CASELESS_UNKNOWN;
	}
	return LAUNCH_CASELESS_NO;
}

int launch_caseless_folder(int fd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct statfs fs;
	int flags = 0, times, answer = LAUNCH_CASELESS_UNKNOWN;

	errno = 0;
	/* Kernels and file systems that do not know the flag, or the call, have no such folder. */
	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && flags & FS_CASEFOLD_FL)
		return LAUNCH_CASELESS_YES;
	if (errno == EPERM)
		return -EPERM;
	/* Where names may be without case nothing but these looks tells. */
	times = fstatfs(fd, &fs) == 0 && launch_caseless_type((uint64_t)fs.f_type) ? TIMES : 1;
	dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (dir)
		rewinddir(dir);
	for (struct dirent *d; dir && answer == LAUNCH_CASELESS_UNKNOWN && (d = readdir(dir));)
		answer = try_name(fd, d->d_name, times);
	return answer;
}

/* A folder that the caller can read; in another nothing can be made, and what is there has the names that it has. */
static int look(struct launch *l, const char *path)
{
	_cleanup_close_ int fd =
		launch_caller_open(l->context, l->root_fd, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
				   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct statfs fs;
	int answer;

	if (fd < 0)
		return fd == -EACCES || fd == -ENOTDIR || fd == -ENOENT || fd == -ELOOP ? 0 : fd;
	answer = launch_caseless_folder(fd);
	if (answer == LAUNCH_CASELESS_UNKNOWN && fstatfs(fd, &fs) == 0 && launch_caseless_type((uint64_t)fs.f_type))
		answer = LAUNCH_CASELESS_YES;
	if (answer != LAUNCH_CASELESS_YES)
		return answer < 0 ? answer : 0;
	l->caseless = strdup(path);
	return l->caseless ? 0 : -ENOMEM;
}

int launch_caseless_find(struct launch *l, struct error *e)
{
	const struct plan *plan = &l->plan;
	int r = 0;

	if (!l->rules)
		return 0;
	for (uint32_t i = 0; i < plan->n_mounts && r == 0 && !l->caseless; i++)
		if (plan->mounts[i].flags & PLAN_GRANT && plan->mounts[i].type != PLAN_MOUNT_MATCHES &&
		    !l->trees[i].absent)
			r = look(l, plan->mounts[i].target);
	for (size_t i = 0; i < l->n_matches && r == 0 && !l->caseless; i++)
		if (!l->matches[i].tree.absent)
			r = look(l, l->matches[i].path);
	if (r < 0 || !l->caseless)
		return r;
	l->rules = path_rules_free(l->rules);
	return path_rules_new_folding(plan->rules, plan->n_rules, &l->rules);
}
