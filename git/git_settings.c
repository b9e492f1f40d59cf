#include "git/git_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "git/git_path.h"
#include "git/git_repository.h"

struct reading {
	const struct git_layout *layout;
	const struct git_user *user;
	git_settings_fn *fn;
	void *userdata;
	enum git_scope scope;
	unsigned files;
	bool per_worktree; /* extensions.worktreeConfig */
	char branch[256];  /* "" = none */
};

int git_settings_path(const char *value, const char *base, const char *home, char *ret, size_t ret_size)
{
	if (value[0] == '~') {
		if (value[1] != '/' || !home)
			return -EINVAL;
		return git_path_join(home, value + 2, ret, ret_size);
	}
	return git_path_join(base, value, ret, ret_size);
}

/* The pattern of gitdir: as git completes it. */
static bool is_git_folder_matched(const struct reading *r, const char *condition, const char *file, bool fold)
{
	char pattern[PATH_MAX + 8], base[PATH_MAX];
	size_t n = strlen(condition);
	int len;

	if (r->layout->kind == GIT_NONE || r->layout->git[0] == '\0' || n == 0 || n >= PATH_MAX)
		return false;
	git_path_parent(file, base, sizeof(base));
	if (condition[0] == '~' && condition[1] == '/' && r->user->home)
		len = snprintf(pattern, sizeof(pattern), "%s%s", r->user->home, condition + 1);
	else if (condition[0] == '.' && condition[1] == '/')
		len = snprintf(pattern, sizeof(pattern), "%s%s", base, condition + 1);
	else
		len = snprintf(pattern, sizeof(pattern), "%s%s", condition[0] == '/' ? "" : "**/", condition);
	if (len < 0 || (size_t)len + 3 > sizeof(pattern))
		return false;
	if (condition[n - 1] == '/')
		memcpy(pattern + len, "**", 3);
	return git_path_matches(pattern, r->layout->git, fold);
}

static bool is_branch_matched(const struct reading *r, const char *condition)
{
	char pattern[PATH_MAX];
	size_t n = strlen(condition);

	if (r->branch[0] == '\0' || n == 0 || n + 3 > sizeof(pattern))
		return false;
	memcpy(pattern, condition, n + 1);
	if (condition[n - 1] == '/')
		memcpy(pattern + n, "**", 3);
	return git_path_matches(pattern, r->branch, false);
}

/* Does this entry include a file, and under which condition? *certain becomes false where that is not known. */
static bool is_include(const struct reading *r, const struct git_config_entry *entry, const char *file, bool *certain)
{
	const char *condition = entry->subsection;

	if (strcmp(entry->key, "path") != 0 || !entry->value || !entry->value[0])
		return false;
	if (strcmp(entry->section, "include") == 0)
		return condition[0] == '\0';
	if (strcmp(entry->section, "includeif") != 0)
		return false;
	if (strncmp(condition, "gitdir:", 7) == 0)
		return is_git_folder_matched(r, condition + 7, file, false);
	if (strncmp(condition, "gitdir/i:", 9) == 0)
		return is_git_folder_matched(r, condition + 9, file, true);
	/* One that does not match now may do so once a session has changed the branch. */
	if (strncmp(condition, "onbranch:", 9) != 0 || !is_branch_matched(r, condition + 9))
		*certain = false;
	return true;
}

/* Included files and the user's own may be symlinks; they are only read. */
static enum git_refusal read_file(const char *path, char *text, size_t *len)
{
	_cleanup_close_ int fd = -1;
	char *real;
	enum git_refusal r = GIT_ABSENT;
	char folder[PATH_MAX];

	real = realpath(path, NULL);
	if (real) {
		git_path_parent(real, folder, sizeof(folder));
		fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
		r = fd < 0 ? GIT_UNREADABLE
			   : git_folder_read(fd, git_path_name(real), text, GIT_REPOSITORY_CONFIG_MAX, len);
	}
	free(real);
	return r;
}

static int read_path(struct reading *r, const char *path, int depth, bool certain, bool *ret_bad);

static int read_text(struct reading *r, const char *path, const char *text, size_t len, int depth, bool certain,
		     bool *ret_bad) // NOLINT(misc-no-recursion)
{
	_cleanup_free_ struct git_config *config = malloc(sizeof(*config));
	char folder[PATH_MAX], include[PATH_MAX];
	struct git_config_entry entry;
	int found, ret = 0;

	if (!config)
		return -ENOMEM;
	git_path_parent(path, folder, sizeof(folder));
	git_config_begin(config, text, len);
	while (ret == 0 && (found = git_config_next(config, &entry)) != 0) {
		bool include_certain = certain;

		if (found < 0) {
			*ret_bad = true;
			return 0;
		}
		ret = r->fn(r->userdata, &(struct git_setting){ r->scope, certain, path, &entry });
		if (r->scope == GIT_LOCAL && strcmp(entry.section, "extensions") == 0 &&
		    strcmp(entry.key, "worktreeconfig") == 0)
			r->per_worktree = git_config_bool(entry.value) == 1;
		if (ret == 0 && depth < GIT_SETTINGS_DEPTH && is_include(r, &entry, path, &include_certain) &&
		    git_settings_path(entry.value, folder, r->user->home, include, sizeof(include)) == 0)
			ret = read_path(r, include, depth + 1, include_certain, ret_bad);
	}
	return ret;
}

static int read_path(struct reading *r, const char *path, int depth, bool certain,
		     bool *ret_bad) // NOLINT(misc-no-recursion)
{
	_cleanup_free_ char *text = NULL;
	enum git_refusal refusal;
	size_t len;

	if (r->files++ >= GIT_SETTINGS_FILES)
		return 0;
	text = malloc(GIT_REPOSITORY_CONFIG_MAX);
	if (!text)
		return -ENOMEM;
	refusal = read_file(path, text, &len);
	if (refusal == GIT_TOO_LARGE)
		*ret_bad = true;
	return refusal == GIT_ACCEPTED ? read_text(r, path, text, len, depth, certain, ret_bad) : 0;
}

/* A file of the repository's own: never through a link. */
static int read_own(struct reading *r, const char *folder, const char *name, bool *ret_bad)
{
	_cleanup_free_ char *text = malloc(GIT_REPOSITORY_CONFIG_MAX);
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	enum git_refusal refusal;
	size_t len;

	if (!text)
		return -ENOMEM;
	if (git_path_join(folder, name, path, sizeof(path)) < 0 || git_folder_open_any(folder, &fd) != GIT_ACCEPTED)
		return 0;
	refusal = git_folder_read(fd, name, text, GIT_REPOSITORY_CONFIG_MAX, &len);
	if (refusal != GIT_ACCEPTED && refusal != GIT_ABSENT)
		*ret_bad = true;
	return refusal == GIT_ACCEPTED ? read_text(r, path, text, len, 0, true, ret_bad) : 0;
}

static void read_branch(struct reading *r)
{
	static const char prefix[] = "ref: refs/heads/";
	_cleanup_close_ int fd = -1;
	char text[sizeof(r->branch) + sizeof(prefix)];
	size_t len;

	if (r->layout->kind == GIT_NONE || r->layout->git[0] == '\0' ||
	    git_folder_open_any(r->layout->git, &fd) != GIT_ACCEPTED ||
	    git_folder_read(fd, "HEAD", text, sizeof(text), &len) != GIT_ACCEPTED ||
	    strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return;
	len = strcspn(text + sizeof(prefix) - 1, "\n");
	if (len >= sizeof(r->branch))
		return;
	memcpy(r->branch, text + sizeof(prefix) - 1, len);
	r->branch[len] = '\0';
}

static int read_repository(struct reading *r, bool *ret_bad)
{
	int ret;

	if (r->layout->kind == GIT_NONE || r->layout->common[0] == '\0')
		return 0;
	r->scope = GIT_LOCAL;
	ret = read_own(r, r->layout->common, "config", ret_bad);
	if (ret < 0 || !r->per_worktree)
		return ret;
	r->scope = GIT_OF_WORKTREE;
	return read_own(r, r->layout->git, "config.worktree", ret_bad);
}

int git_settings_read(const struct git_settings_files *files, const struct git_layout *l, const struct git_user *user,
		      git_settings_fn *fn, void *userdata, bool *ret_bad)
{
	struct reading r = { .layout = l, .user = user, .fn = fn, .userdata = userdata, .scope = GIT_SYSTEM };
	bool ignored;
	int ret = 0;

	*ret_bad = false;
	read_branch(&r);
	if (files->system)
		ret = read_path(&r, files->system, 0, true, &ignored);
	r.scope = GIT_GLOBAL;
	for (size_t i = 0; ret == 0 && i < ARRAY_SIZE(files->global); i++)
		if (files->global[i])
			ret = read_path(&r, files->global[i], 0, true, &ignored);
	return ret < 0 ? ret : read_repository(&r, ret_bad);
}
