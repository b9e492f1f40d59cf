#ifndef ISOD_GIT_GIT_POINTER_H
#define ISOD_GIT_GIT_POINTER_H
/*
 * The small text files by which git's folders point at each other. Foreign bytes: read in place, nothing allocated,
 * nothing looked up. All give a path as written, which may be relative to the folder that holds the file.
 */
#include <stddef.h>

/* A path of PATH_MAX, what stands before it, and a line end. */
#define GIT_POINTER_MAX 4160

/* A .git file: "gitdir: PATH". 0, -EBADMSG (another text, empty, a NUL, a second line), -ENAMETOOLONG. */
int git_pointer_read_gitfile(const char *data, size_t len, char *ret, size_t ret_size);

/* commondir, and gitdir of a worktree's folder: one path, one line. The same errors. */
int git_pointer_read_line(const char *data, size_t len, char *ret, size_t ret_size);

/* objects/info/alternates: the next path of *at .. end. Comments and empty lines are left out, a path in quotes is
 * unquoted as in C. 1; 0 at the end; -EBADMSG, -ENAMETOOLONG for this line (*at stands behind it: go on or stop). */
int git_pointer_next_alternate(const char **at, const char *end, char *ret, size_t ret_size);

#endif
