#include "git/git_values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "git/git_path.h"

struct name {
	const char *section, *subsection, *key;
	const char *name;
	const char *only; /* the one value that may pass; NULL = any plain one */
};

/* Nothing here names a program, a file, a host or a credential, but for git-lfs's own three lines: without them an LFS
 * file that is committed inside would go into the repository whole. */
static const struct name names[] = {
	{ "user", "", "name", "user.name", NULL },
	{ "user", "", "email", "user.email", NULL },
	{ "user", "", "useconfigonly", "user.useConfigOnly", NULL },
	{ "author", "", "name", "author.name", NULL },
	{ "author", "", "email", "author.email", NULL },
	{ "committer", "", "name", "committer.name", NULL },
	{ "committer", "", "email", "committer.email", NULL },
	{ "init", "", "defaultbranch", "init.defaultBranch", NULL },
	{ "core", "", "autocrlf", "core.autocrlf", NULL },
	{ "core", "", "eol", "core.eol", NULL },
	{ "core", "", "safecrlf", "core.safecrlf", NULL },
	{ "core", "", "quotepath", "core.quotePath", NULL },
	{ "core", "", "commentchar", "core.commentChar", NULL },
	{ "commit", "", "cleanup", "commit.cleanup", NULL },
	{ "pull", "", "rebase", "pull.rebase", NULL },
	{ "pull", "", "ff", "pull.ff", NULL },
	{ "push", "", "default", "push.default", NULL },
	{ "push", "", "autosetupremote", "push.autoSetupRemote", NULL },
	{ "fetch", "", "prune", "fetch.prune", NULL },
	{ "merge", "", "conflictstyle", "merge.conflictStyle", NULL },
	{ "merge", "", "ff", "merge.ff", NULL },
	{ "rebase", "", "autosquash", "rebase.autoSquash", NULL },
	{ "rebase", "", "autostash", "rebase.autoStash", NULL },
	{ "rebase", "", "updaterefs", "rebase.updateRefs", NULL },
	{ "rerere", "", "enabled", "rerere.enabled", NULL },
	{ "diff", "", "algorithm", "diff.algorithm", NULL },
	{ "diff", "", "renames", "diff.renames", NULL },
	{ "branch", "", "autosetupmerge", "branch.autoSetupMerge", NULL },
	{ "branch", "", "autosetuprebase", "branch.autoSetupRebase", NULL },
	{ "submodule", "", "recurse", "submodule.recurse", NULL },
	{ "i18n", "", "commitencoding", "i18n.commitEncoding", NULL },
	{ "filter", "lfs", "clean", "filter.lfs.clean", "git-lfs clean -- %f" },
	{ "filter", "lfs", "smudge", "filter.lfs.smudge", "git-lfs smudge -- %f" },
	{ "filter", "lfs", "process", "filter.lfs.process", "git-lfs filter-process" },
	{ "filter", "lfs", "required", "filter.lfs.required", "true" },
};

struct collecting {
	struct git_values *values;
	const struct git_layout *layout;
	const struct git_user *user;
	bool sign_commits, sign_tags;
};

/* UTF-8 without control characters: it becomes a variable of the session's, and a line for people. */
static bool is_plain(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		unsigned more = *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc2 ? 1 : 0;

		if (*p < 0x20 || *p == 0x7f || (*p >= 0x80 && *p < 0xc2) || *p > 0xf4)
			return false;
		/* C1 control characters, surrogates, forms that are too long or too large */
		if ((*p == 0xc2 && p[1] < 0xa0) || (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
		    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
			return false;
		for (; more > 0; more--)
			if ((*++p & 0xc0) != 0x80)
				return false;
	}
	return true;
}

static void set_value(struct git_value *v, const struct name *name, const struct git_setting *s)
{
	const char *text = s->entry->value ? s->entry->value : "true";

	v->is_set = true;
	v->scope = s->scope;
	v->is_plain =
		strlen(text) < sizeof(v->value) && is_plain(text) && (!name->only || strcmp(text, name->only) == 0);
	if (v->is_plain)
		memcpy(v->value, text, strlen(text) + 1);
}

static bool is_key(const struct git_config_entry *e, const char *section, const char *subsection, const char *key)
{
	return strcmp(e->section, section) == 0 && strcmp(e->subsection, subsection) == 0 && strcmp(e->key, key) == 0;
}

/* A hook's folder is looked for from the work tree on. */
static void add_hooks(struct collecting *c, const struct git_setting *s)
{
	struct git_values *v = c->values;
	const char *base = c->layout->kind != GIT_NONE ? c->layout->top : "/";

	if (!s->entry->value || !s->entry->value[0])
		return;
	if (v->n_hooks == GIT_VALUES_PATHS) {
		v->more_hooks = true;
		return;
	}
	if (git_settings_path(s->entry->value, base, c->user->home, v->hooks[v->n_hooks].path,
			      sizeof(v->hooks[0].path)) < 0)
		return;
	if (s->certain)
		for (size_t i = 0; i < v->n_hooks; i++)
			v->hooks[i].counts = false;
	v->hooks[v->n_hooks].scope = s->scope;
	v->hooks[v->n_hooks++].counts = s->certain;
}

static bool has_include(const struct git_values *v, const char *path)
{
	for (size_t i = 0; i < v->n_includes; i++)
		if (strcmp(v->includes[i], path) == 0)
			return true;
	return false;
}

/* Conditions are not asked: a session may change the branch that one is about. */
static int add_include(struct collecting *c, const struct git_setting *s)
{
	struct git_values *v = c->values;
	char folder[PATH_MAX], path[PATH_MAX];

	if ((strcmp(s->entry->section, "include") != 0 && strcmp(s->entry->section, "includeif") != 0) ||
	    strcmp(s->entry->key, "path") != 0 || !s->entry->value || !s->entry->value[0])
		return 0;
	git_path_parent(s->file, folder, sizeof(folder));
	if (git_settings_path(s->entry->value, folder, c->user->home, path, sizeof(path)) < 0 || has_include(v, path))
		return 0;
	if (v->n_includes == GIT_VALUES_INCLUDES) {
		v->more_includes = true;
		return 0;
	}
	v->includes[v->n_includes] = strdup(path);
	if (!v->includes[v->n_includes])
		return -ENOMEM;
	v->n_includes++;
	return 0;
}

static int collect(void *userdata, const struct git_setting *s)
{
	struct collecting *c = userdata;

	if (add_include(c, s) < 0)
		return -ENOMEM;
	if (is_key(s->entry, "core", "", "hookspath"))
		add_hooks(c, s);
	if (!s->certain)
		return 0;
	if (is_key(s->entry, "commit", "", "gpgsign"))
		c->sign_commits = git_config_bool(s->entry->value) == 1;
	else if (is_key(s->entry, "tag", "", "gpgsign"))
		c->sign_tags = git_config_bool(s->entry->value) == 1;
	else if (is_key(s->entry, "core", "", "excludesfile") &&
		 (s->scope != GIT_GLOBAL || !s->entry->value || !s->entry->value[0] ||
		  git_settings_path(s->entry->value, "/", c->user->home, c->values->excludes,
				    sizeof(c->values->excludes)) < 0))
		c->values->excludes[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is_key(s->entry, names[i].section, names[i].subsection, names[i].key))
			set_value(&c->values->values[i], &names[i], s);
	return 0;
}

int git_values_read(const struct git_settings_files *files, const struct git_layout *l, const struct git_user *user,
		    struct git_values *ret)
{
	struct collecting c = { .values = ret, .layout = l, .user = user };
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->values = calloc(ARRAY_SIZE(names), sizeof(*ret->values));
	ret->includes = calloc(GIT_VALUES_INCLUDES, sizeof(*ret->includes));
	if (!ret->values || !ret->includes)
		return -ENOMEM;
	ret->count = ARRAY_SIZE(names);
	for (size_t i = 0; i < ret->count; i++)
		ret->values[i].name = names[i].name;
	r = git_settings_read(files, l, user, collect, &c, &ret->bad);
	ret->signs = c.sign_commits || c.sign_tags;
	return r;
}

void git_values_done(struct git_values *v)
{
	while (v->n_includes > 0)
		free(v->includes[--v->n_includes]);
	free(v->includes);
	free(v->values);
	v->includes = NULL;
	v->values = NULL;
	v->count = 0;
}
