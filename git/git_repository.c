#include "git/git_repository.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "git/git_config.h"
#include "git/git_path.h"

int git_repository_work_tree(int git, char *ret, size_t ret_size)
{
	_cleanup_free_ char *text = malloc(GIT_REPOSITORY_CONFIG_MAX);
	_cleanup_free_ struct git_config *config = malloc(sizeof(*config));
	struct git_config_entry entry;
	int r, found = -ENOENT;
	size_t len;

	if (!text || !config || git_folder_read(git, "config", text, GIT_REPOSITORY_CONFIG_MAX, &len) != GIT_ACCEPTED)
		return -EBADMSG;
	git_config_begin(config, text, len);
	while ((r = git_config_next(config, &entry)) > 0) {
		if (strcmp(entry.section, "core") != 0 || entry.subsection[0] || strcmp(entry.key, "worktree") != 0)
			continue;
		if (!entry.value || strlen(entry.value) >= ret_size)
			return -ENAMETOOLONG;
		memcpy(ret, entry.value, strlen(entry.value) + 1);
		found = 0;
	}
	return r < 0 ? -EBADMSG : found;
}

/* The git folder that the part of path before "/modules/" is: "…/.git", or "…/.git/worktrees/NAME", of which it is the
 * first part. Cuts path off; false: there is none. */
static bool cut_at_modules(char *path)
{
	char *at;

	for (char *next = path; (at = strstr(next, "/modules/")); next = at + 1) {
		_cleanup_close_ int fd = -1;
		char folder[PATH_MAX], up[PATH_MAX];
		size_t n = (size_t)(at - path);

		if (n == 0)
			continue;
		memcpy(folder, path, n);
		folder[n] = '\0';
		git_path_parent(folder, up, sizeof(up));
		if (strcmp(git_path_name(up), "worktrees") == 0)
			git_path_parent(up, folder, sizeof(folder));
		if (strcmp(folder, "/") == 0 || git_folder_open_any(folder, &fd) != GIT_ACCEPTED ||
		    !git_folder_is_repository(fd))
			continue;
		memcpy(path, folder, strlen(folder) + 1);
		return true;
	}
	return false;
}

enum git_refusal git_repository_main(const char *path, const struct git_user *user, char *ret, size_t ret_size,
				     struct git_identity *ret_identity)
{
	_cleanup_close_ int fd = -1;
	char found[PATH_MAX];
	enum git_refusal r;

	if ((size_t)snprintf(found, sizeof(found), "%s", path) >= sizeof(found) || ret_size < sizeof(found))
		return GIT_NO_POINTER;
	cut_at_modules(found);
	if (git_folder_is_forbidden(found, user))
		return GIT_FORBIDDEN_PLACE;
	r = git_folder_open(found, user, &fd);
	if (r != GIT_ACCEPTED)
		return r;
	if (!git_folder_is_repository(fd))
		return GIT_NO_REPOSITORY;
	memcpy(ret, found, strlen(found) + 1);
	return git_folder_identify(fd, ret_identity) < 0 ? GIT_UNREADABLE : GIT_ACCEPTED;
}
