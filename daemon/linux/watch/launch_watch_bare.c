#include "daemon/linux/watch/launch_watch_bare.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/limits.h"

static const char *const parts[] = { "HEAD", "objects", "refs", "commondir" };

bool launch_watch_bare_part(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcmp(parts[i], name) == 0)
			return true;
	return false;
}

/* Whatever it is: HEAD may be a symlink that leads nowhere yet. */
static bool has(const char *folder, const char *name)
{
	char path[LIMIT_PATH];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	return n > 0 && (size_t)n < sizeof(path) && fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool launch_watch_bare(const char *folder)
{
	return has(folder, "HEAD") && (has(folder, "commondir") || (has(folder, "objects") && has(folder, "refs")));
}
