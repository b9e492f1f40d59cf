#ifndef ISOD_CLIENT_LAYER_PATH_H
#define ISOD_CLIENT_LAYER_PATH_H
/*
 * Ways into a folder that somebody else fills, perhaps at this moment: no component of a path is followed where it is a
 * symlink, and nothing leads out. Paths are relative to the top, without "." and ".."; "" is the top itself.
 */
#include <stdbool.h>
#include <sys/types.h>

/* A folder by its absolute path, no symlink in it. Descriptor or -errno. */
int layer_path_open_top(const char *path);
/* Close-on-exec, does not block on a fifo. Descriptor or -errno; -ELOOP for a symlink. */
int layer_path_open(int top, const char *path, int flags);
/* The folder that path lies in; *ret_name points at the last component. */
int layer_path_open_parent(int top, const char *path, const char **ret_name);

/* folder + "/" + name in heap memory; folder may be "". NULL without memory. */
char *layer_path_join(const char *folder, const char *name);
/* The rest of path below top, "" for top itself; NULL where it is not below. Both clean and absolute, or both relative.
 */
const char *layer_path_below(const char *path, const char *top);

/* What a user typed, as a path relative to project: absolute, or relative to cwd where that is in the project, else to
 * the project. Heap memory; NULL where it lies outside or has "..". */
char *layer_path_typed(const char *typed, const char *cwd, const char *project);

/* A symlink at path with this target may lead out of the project: absolute, above the top, or "up again" behind a name,
 * which another link may turn into anything. */
bool layer_path_leads_out(const char *path, const char *target);

#endif
