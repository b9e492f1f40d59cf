#ifndef ISOD_GIT_GIT_PATH_H
#define ISOD_GIT_GIT_PATH_H
/* Paths as git writes them into its files, made absolute as text. Nothing is looked up. */
#include <stdbool.h>
#include <stddef.h>

/* path == parent, or below it on a component boundary. Both clean. */
bool git_path_is_within(const char *path, const char *parent);

/*
 * The clean absolute path that text means: as it is where it is absolute, else from base on (clean, absolute). "." and
 * ".." are taken out, which is right only where no symlink is on the way: git_folder_open() refuses those.
 * 0, -EINVAL (empty), -ENAMETOOLONG. ret may be text or base.
 */
int git_path_join(const char *base, const char *text, char *ret, size_t ret_size);

/* The folder that holds path. "/" for "/". */
void git_path_parent(const char *path, char *ret, size_t ret_size);
const char *git_path_name(const char *path);

/* git's pattern for a path: * and ? and [...] stay within a component, "**" as a component is any number of them. At
 * worst pattern times the square of text; fold: letters of ASCII alike. */
bool git_path_matches(const char *pattern, const char *text, bool fold);

#endif
