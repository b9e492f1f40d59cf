#ifndef ISOD_GIT_GIT_REPOSITORY_H
#define ISOD_GIT_GIT_REPOSITORY_H
/* What one git folder says about itself. */
#include "git/git_folder.h"

/* Bytes of a configuration file; those of real repositories with thousands of branches reach 200 KiB. */
#define GIT_REPOSITORY_CONFIG_MAX (512U << 10)

/* core.worktree as written in its config: 0; -ENOENT (not set), -EBADMSG, -ENAMETOOLONG. */
int git_repository_work_tree(int git, char *ret, size_t ret_size);

/*
 * The git folder of the repository that the git folder path belongs to: the super project's for one in its modules
 * folder, the common one for one of a linked worktree; path itself where it is in none. Checked like path itself.
 */
enum git_refusal git_repository_main(const char *path, const struct git_user *user, char *ret, size_t ret_size,
				     struct git_identity *ret_identity);

#endif
