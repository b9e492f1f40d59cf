#include "client/layer/layer_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/limits.h"

/* A rename elsewhere can make the kernel unsure for a moment. */
#define TRIES 100

static int open_beneath(int top, const char *path, int flags, unsigned resolve)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC, .resolve = resolve };
	long fd = -1;

	if (strlen(path) >= LIMIT_PATH)
		return -ENAMETOOLONG;
	for (int i = 0; i < TRIES; i++) {
		fd = syscall(SYS_openat2, top, path, &how, sizeof(how));
		if (fd >= 0 || (errno != EAGAIN && errno != EINTR))
			break;
	}
	return fd < 0 ? -errno : (int)fd;
}

int layer_path_open_top(const char *path)
{
	return open_beneath(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int layer_path_open(int top, const char *path, int flags)
{
	return open_beneath(top, *path ? path : ".",
			    flags & O_PATH ? flags | O_NOFOLLOW : flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
			    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int layer_path_open_parent(int top, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char folder[LIMIT_PATH];
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, len);
	folder[len] = '\0';
	*ret_name = slash ? slash + 1 : path;
	return layer_path_open(top, folder, O_RDONLY | O_DIRECTORY);
}

char *layer_path_join(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0 ? NULL : path;
}

const char *layer_path_below(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (len == 0 || strcmp(top, "/") == 0)
		return path + strspn(path, "/");
	if (strncmp(path, top, len) != 0 || (path[len] != '\0' && path[len] != '/'))
		return NULL;
	return path + len + (path[len] == '/');
}

/* Without empty and "." components, into ret. -EINVAL for "..". */
static int clean(const char *path, char *ret)
{
	size_t n = 0;

	while (*path) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.')
			return -EINVAL;
		if (len > 0 && !(len == 1 && path[0] == '.')) {
			if (n > 0)
				ret[n++] = '/';
			memcpy(ret + n, path, len);
			n += len;
		}
		path += len;
	}
	ret[n] = '\0';
	return 0;
}

char *layer_path_typed(const char *typed, const char *cwd, const char *project)
{
	const char *base = typed[0] == '/' ? NULL : layer_path_below(cwd, project);
	size_t size = strlen(typed) + (base ? strlen(base) : 0) + 2;
	char *whole = malloc(size), *ret = malloc(size), *relative = NULL;
	const char *rest;

	if (whole && ret) {
		snprintf(whole, size, "%s%s%s", base ? base : "", base && *base ? "/" : "", typed);
		if (clean(whole, ret) == 0) {
			/* An absolute one has lost its first slash, as the project has below. */
			rest = typed[0] == '/' ? layer_path_below(ret, project + 1) : ret;
			relative = rest ? strdup(rest) : NULL;
		}
	}
	free(whole);
	free(ret);
	return relative;
}

bool layer_path_leads_out(const char *path, const char *target)
{
	unsigned depth = 0;
	bool named = false;

	if (target[0] == '/')
		return true;
	for (const char *c = path; *c; c++)
		depth += *c == '/';
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && target[0] == '.' && target[1] == '.') {
			if (named || depth == 0)
				return true;
			depth--;
		} else if (len > 0 && !(len == 1 && target[0] == '.')) {
			named = true;
		}
		target += len;
		target += strspn(target, "/");
	}
	return false;
}
