#ifndef ISOD_LINUX_LAUNCH_LATE_FOLDER_H
#define ISOD_LINUX_LAUNCH_LATE_FOLDER_H
/*
 * What the rules say of a file, with what they say of its folder remembered: a job opens thousands of files in a few
 * folders. Rules and mounts of a session do not change, and a file's path is asked for at each open, so what is
 * remembered about a folder's path stays true whatever is moved there or away.
 */
#include "daemon/launch/launch.h"
#include "view/path_rules.h"

#define LAUNCH_LATE_FOLDERS 64
/* Longer paths are judged without. */
#define LAUNCH_LATE_FOLDER_PATH 512

struct launch_late_folder {
	size_t len; /* of the path; 0: free */
	bool granted;
	struct path_folder rules;
	char path[LAUNCH_LATE_FOLDER_PATH];
};

struct launch_late_folders {
	const struct launch *launch;
	const struct path_rules *rules;
	struct launch_late_folder items[LAUNCH_LATE_FOLDERS]; /* by a hash of the path; the last one stays */
};

/* launch_target_is_granted() and path_rules_decide() in one. path: clean, absolute. False: no grant's, *ret is not
 * filled in. */
bool launch_late_folder_decide(struct launch_late_folders *f, const char *path, enum path_kind kind,
			       struct path_verdict *ret);

#endif
