#include "daemon/monitor/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/tree_remove.h"

static int complain(struct error *e, int err, const char *path, const char *what)
{
	return error_set(e, ERROR_REFUSED, err, "folders", "", "%s: %s: %s.", path, what, strerror(err));
}

/*
 * Makes parent/name unless it is there, and makes sure of owner and mode, so that a folder left by another set-up does
 * not decide who may look in. Nobody but root may own the way to it.
 */
static int open_folder(int parent, const char *name, mode_t mode, uid_t uid, gid_t gid, const char *shown,
		       struct error *e)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
		return complain(e, errno, shown, "cannot be made");
	fd = openat(parent, name, O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return complain(e, errno, shown, "is no folder");
	if (st.st_uid != 0 && st.st_uid != uid)
		return complain(e, EPERM, shown, "belongs to somebody else");
	if ((st.st_uid != uid || st.st_gid != gid) && fchown(fd, uid, gid) < 0)
		return complain(e, errno, shown, "cannot be given to its owner");
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0)
		return complain(e, errno, shown, "cannot be given its mode");
	return take_fd(&fd);
}

/* FNV-1a over the folder's path and device: the same at every start of this instance. */
static void make_tag(const char *path, dev_t device, char tag[CGROUP_TAG_LEN + 1])
{
	uint32_t hash = 2166136261u;

	for (const char *c = path; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 16777619u;
	for (unsigned i = 0; i < sizeof(device); i++)
		hash = (hash ^ (uint8_t)(device >> (8 * i))) * 16777619u;
	snprintf(tag, CGROUP_TAG_LEN + 1, "%08x", hash);
}

static int open_run(struct place *p, const char *run_dir, struct error *e)
{
	_cleanup_free_ char *real = NULL;
	struct stat st;

	p->run = open_folder(AT_FDCWD, run_dir, 0755, 0, 0, run_dir, e);
	if (p->run < 0)
		return p->run;
	real = realpath(run_dir, NULL);
	if (!real || fstat(p->run, &st) < 0)
		return complain(e, errno, run_dir, "cannot be looked at");
	make_tag(real, st.st_dev, p->tag);
	p->lock = openat(p->run, "isod.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (p->lock < 0)
		return complain(e, errno, run_dir, "isod.lock cannot be opened");
	if (flock(p->lock, LOCK_EX | LOCK_NB) < 0)
		return error_set(e, ERROR_REFUSED, errno, "lock", "Stop it first, or choose another --run-dir.",
				 "Another isod uses %s.", run_dir);
	return 0;
}

static int open_state(struct place *p, const char *state_dir, uid_t uid, gid_t gid, struct error *e)
{
	_cleanup_close_ int state = open_folder(AT_FDCWD, state_dir, 0711, 0, 0, state_dir, e);
	_cleanup_close_ int audit = -1;

	if (state < 0)
		return state;
	p->sessions = open_folder(state, "sessions", 0700, 0, 0, "the folder sessions", e);
	if (p->sessions < 0)
		return p->sessions;
	/* Nobody else can open it, so nobody else can hold the lock. */
	if (flock(p->sessions, LOCK_EX | LOCK_NB) < 0)
		return error_set(e, ERROR_REFUSED, errno, "lock", "Stop it first, or choose another --state-dir.",
				 "Another isod uses %s.", state_dir);
	p->layers = open_folder(state, "layers", 0700, 0, 0, "the folder layers", e);
	if (p->layers < 0)
		return p->layers;
	audit = open_folder(state, "audit", 0700, uid, gid, "the folder audit", e);
	if (audit < 0)
		return audit;
	p->audit = openat(state, "audit", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return p->audit < 0 ? complain(e, errno, state_dir, "audit cannot be opened") : 0;
}

/*
 * Control only reads in there, but what it reads is policy: nobody but root may have written it. A missing folder is
 * made now, so that a policy written later is seen without a restart.
 */
static int open_config(struct place *p, const char *config_dir, struct error *e)
{
	struct stat st;

	if (mkdir(config_dir, 0755) == 0 && chmod(config_dir, 0755) < 0)
		return complain(e, errno, config_dir, "cannot be given its mode");
	p->config = open(config_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (p->config < 0 || fstat(p->config, &st) < 0)
		return complain(e, errno, config_dir, "cannot be opened");
	if (st.st_uid != 0 || st.st_mode & 022)
		return complain(e, EPERM, config_dir, "others than root may write in it");
	return 0;
}

int place_open(struct place *p, const char *run_dir, const char *state_dir, const char *config_dir, uid_t control_uid,
	       gid_t control_gid, struct error *e)
{
	int r = open_run(p, run_dir, e);

	if (r == 0)
		r = open_state(p, state_dir, control_uid, control_gid, e);
	return r < 0 ? r : open_config(p, config_dir, e);
}

void place_close(struct place *p)
{
	p->run = fd_close(p->run);
	p->lock = fd_close(p->lock);
	p->sessions = fd_close(p->sessions);
	p->layers = fd_close(p->layers);
	p->audit = fd_close(p->audit);
	p->config = fd_close(p->config);
}

int place_sweep_sessions(const struct place *p)
{
	int fd = openat(p->sessions, ".", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int result = 0;

	if (!d) {
		fd_close(fd);
		return -errno;
	}
	while ((entry = readdir(d))) {
		int r;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		r = tree_remove(p->sessions, entry->d_name);
		if (r < 0 && result == 0)
			result = r;
	}
	return result;
}
