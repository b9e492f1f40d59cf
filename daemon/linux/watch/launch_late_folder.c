#include "daemon/linux/watch/launch_late_folder.h"

#include <string.h>

#include "daemon/linux/view/launch_target.h"

static bool decide_alone(const struct launch_late_folders *f, const char *path, enum path_kind kind,
			 struct path_verdict *ret)
{
	if (!launch_target_is_granted(f->launch, path))
		return false;
	path_rules_decide(f->rules, path, kind, ret);
	return true;
}

static struct launch_late_folder *find(struct launch_late_folders *f, const char *path, size_t len)
{
	uint32_t hash = 2166136261U;
	struct launch_late_folder *folder;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619U;
	folder = &f->items[(hash ^ hash >> 16) % LAUNCH_LATE_FOLDERS];
	if (folder->len == len && memcmp(folder->path, path, len) == 0)
		return folder;
	memcpy(folder->path, path, len);
	folder->path[len] = '\0';
	folder->len = len;
	folder->granted = launch_target_is_granted(f->launch, folder->path);
	path_rules_enter(f->rules, folder->path, &folder->rules);
	return folder;
}

bool launch_late_folder_decide(struct launch_late_folders *f, const char *path, enum path_kind kind,
			       struct path_verdict *ret)
{
	const char *name = strrchr(path, '/');
	struct launch_late_folder *folder;

	/* In the root itself, too. */
	if (!name || name == path || name - path >= LAUNCH_LATE_FOLDER_PATH)
		return decide_alone(f, path, kind, ret);
	/* Of a file that is mounted by itself the folder says nothing. */
	if (launch_target_at(f->launch, path))
		return decide_alone(f, path, kind, ret);
	folder = find(f, path, (size_t)(name - path));
	if (!folder->granted)
		return false;
	path_rules_decide_in(f->rules, &folder->rules, path, kind, ret);
	return true;
}
