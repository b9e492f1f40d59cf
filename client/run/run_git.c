#include "client/run/run_git.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "client/run/git_caller.h"
#include "client/run/run_git_masked.h"
#include "client/policy/trust.h"
#include "git/git_layout.h"
#include "git/git_path.h"
#include "git/git_repository.h"
#include "git/git_values.h"
#include "policy/policy_rules.h"
#include "view/path_rules.h"

struct look {
	const char *project;
	const struct policy *policy;
	const struct run_environment *environment;
	struct git_caller caller;
	struct git_layout layout;
	struct git_values values;
	struct trust trust;
	bool granted;                /* the git folder outside of the project */
	bool asked;                  /* for the following */
	struct policy_rules own;     /* of the policy, built-in protections included */
	struct path_rules *compiled; /* NULL = cannot be had */
	struct run_git_rules *rules;
};

/* Names that git runs out of a folder of hooks. */
static const char *const hook_names[] = {
	"applypatch-msg",     "commit-msg",
	"fsmonitor-watchman", "post-applypatch",
	"post-checkout",      "post-commit",
	"post-index-change",  "post-merge",
	"post-receive",       "post-rewrite",
	"post-update",        "pre-applypatch",
	"pre-auto-gc",        "pre-commit",
	"pre-merge-commit",   "pre-push",
	"pre-rebase",         "pre-receive",
	"prepare-commit-msg", "proc-receive",
	"push-to-checkout",   "reference-transaction",
	"sendemail-validate", "update",
};

/* Files that decide what git runs, or where it looks. */
static const char *const kept_names[] = {
	"config",          "config.worktree",         "commondir",
	"info/attributes", "objects/info/alternates", "objects/info/http-alternates"
};

static bool is_on(const struct look *l, enum protect_group group)
{
	return l->policy->protect[group].on;
}

static bool is_visible(const struct look *l, const char *path)
{
	if (git_path_is_within(path, l->project))
		return true;
	return l->granted && (git_path_is_within(path, l->layout.common) ||
			      (l->layout.above && git_path_is_within(path, l->layout.top)));
}

/* To compile all rules costs a start as much as to read the repository: only where a rule of the user's may matter. */
static bool can_be_asked(struct look *l)
{
	const struct policy *p = l->policy;
	struct error bad = ERROR_INIT;

	if (p->allow_write.count == 0 && p->overlay.count == 0)
		return false;
	if (l->asked)
		return l->compiled;
	l->asked = true;
	/* A rule that is none is for the daemon to refuse, with its line. */
	if (policy_rules_build(p, l->caller.user.home ? l->caller.user.home : "/", l->project, &l->own, &bad) < 0 ||
	    path_rules_new(l->own.rules, l->own.n, &l->compiled) < 0)
		l->compiled = NULL;
	return l->compiled;
}

/* In a ".git" of the project's, where built-in rules hold, only a rule of the user's opens what they keep. */
static bool is_opened_by_user(struct look *l, const char *git, const char *name)
{
	struct path_verdict verdict;
	char path[PATH_MAX];

	if (l->layout.kind != GIT_PLAIN || strcmp(git_path_name(git), ".git") != 0 || !can_be_asked(l) ||
	    git_path_join(git, name, path, sizeof(path)) < 0)
		return false;
	path_rules_decide(l->compiled, path, PATH_ANY, &verdict);
	return verdict.access == PATH_WRITABLE || verdict.access == PATH_OVERLAID;
}

static void keep_name(struct look *l, const char *git, const char *name)
{
	if (!is_opened_by_user(l, git, name))
		run_git_rules_add_below(l->rules, RUN_GIT_KEEP, git, name);
}

/* What the host runs out of a git folder, or is led away by. The built-in rules know these below ".git" only, and there
 * they are about what a repository has at the start: this one's are named, so that what is not there cannot be made. */
static void keep_repository(struct look *l, const char *git)
{
	if (is_on(l, PROTECT_GIT_HOOKS))
		keep_name(l, git, "hooks");
	if (!is_on(l, PROTECT_GIT_CONFIG))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(kept_names); i++)
		keep_name(l, git, kept_names[i]);
}

/* The folders of other worktrees: their own HEAD, index and pointers. More than can be named: all but our own. */
static void keep_worktrees(struct look *l)
{
	const struct git_layout *layout = &l->layout;

	if (!is_on(l, PROTECT_GIT_CONFIG))
		return;
	if (layout->worktrees.more) {
		run_git_rules_add_below(l->rules, RUN_GIT_KEEP, layout->common, "worktrees");
		if (layout->kind == GIT_WORKTREE)
			run_git_rules_add(l->rules, l->policy->overlay_project.on ? RUN_GIT_OVERLAY : RUN_GIT_WRITE,
					  layout->git);
		run_git_rules_note(l->rules, "git: there are more than %d worktrees, so none can be added inside",
				   GIT_LAYOUT_FOLDERS);
	}
	for (size_t i = 0; !layout->worktrees.more && i < layout->worktrees.count; i++)
		run_git_rules_add(l->rules, RUN_GIT_KEEP, layout->worktrees.items[i]);
	if (layout->worktrees.count > 0) {
		/* gc would expire the logs of all worktrees, and take those away that it does not see inside. */
		run_git_rules_set(l->rules, "gc.reflogExpire", "never");
		run_git_rules_set(l->rules, "gc.reflogExpireUnreachable", "never");
		run_git_rules_set(l->rules, "gc.worktreePruneExpire", "never");
	}
	if (layout->kind != GIT_WORKTREE)
		return;
	run_git_rules_add_below(l->rules, RUN_GIT_KEEP, layout->git, "commondir");
	run_git_rules_add_below(l->rules, RUN_GIT_KEEP, layout->git, "gitdir");
	run_git_rules_add_below(l->rules, RUN_GIT_KEEP, layout->git, "config.worktree");
}

/* The built-in rules know ".git/modules", not those of a worktree or of a separate git folder. */
static void keep_modules(struct look *l)
{
	const struct git_layout *layout = &l->layout;

	for (size_t i = 0; i < layout->modules.count; i++)
		if (is_visible(l, layout->modules.items[i]) && !strstr(layout->modules.items[i], "/.git/modules/"))
			keep_repository(l, layout->modules.items[i]);
	if (layout->modules.more)
		run_git_rules_note(l->rules, "git: there are too many submodules to look at each");
}

/* In the project's git folder or the one that was granted. A linked worktree has no business with the main one's
 * modules. */
static void keep(struct look *l)
{
	const struct git_layout *layout = &l->layout;

	if (!is_visible(l, layout->common))
		return;
	keep_repository(l, layout->common);
	keep_worktrees(l);
	if (layout->kind == GIT_WORKTREE && is_on(l, PROTECT_GIT_CONFIG))
		run_git_rules_add_below(l->rules, RUN_GIT_KEEP, layout->common, "modules");
	keep_modules(l);
}

/* core.worktree of a .git folder leads away from it. */
static void look_at_work_tree(struct look *l)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];

	if (l->layout.kind != GIT_PLAIN || git_folder_open_any(l->layout.common, &fd) != GIT_ACCEPTED ||
	    git_repository_work_tree(fd, path, sizeof(path)) < 0 ||
	    git_path_join(l->layout.common, path, path, sizeof(path)) < 0 || is_visible(l, path))
		return;
	run_git_rules_note(l->rules, "git: the work tree of the repository, %s, is not in the project", path);
}

static bool is_trusted(const struct look *l)
{
	const struct git_layout *layout = &l->layout;

	/* Of a separate git folder only the user says that it belongs here. */
	return trust_has(&l->trust, layout->main, &layout->identity, layout->kind == GIT_SEPARATE ? layout->top : NULL);
}

static void grant(struct look *l)
{
	const struct git_layout *layout = &l->layout;

	if (layout->refusal != GIT_ACCEPTED) {
		run_git_rules_note(l->rules, "git: nothing is granted for the repository here: %s %s", layout->about,
				   git_refusal_text(layout->refusal));
		return;
	}
	if (!git_layout_reaches_out(layout, l->project))
		return;
	if (!is_trusted(l)) {
		run_git_rules_note(
			l->rules,
			"git: it does not work inside, its folder %s is not in the project; \"isoctl trust\" lets "
			"sessions use it",
			layout->common);
		return;
	}
	l->granted = true;
	if (layout->above)
		run_git_rules_add(l->rules, RUN_GIT_READ, layout->top);
	if (!git_path_is_within(layout->common, l->project))
		run_git_rules_add(l->rules, l->policy->overlay_project.on ? RUN_GIT_OVERLAY : RUN_GIT_WRITE,
				  layout->common);
}

static void grant_alternates(struct look *l)
{
	for (size_t i = 0; i < l->layout.n_alternates; i++) {
		const struct git_alternate *a = &l->layout.alternates[i];

		if (is_visible(l, a->objects) || !is_visible(l, l->layout.common))
			continue;
		if (a->refusal != GIT_ACCEPTED)
			run_git_rules_note(l->rules,
					   "git: objects that the repository borrows are not there inside: %s %s",
					   a->objects, git_refusal_text(a->refusal));
		else if (trust_has(&l->trust, a->repository, &a->identity, NULL))
			run_git_rules_add(l->rules, RUN_GIT_READ, a->objects);
		else
			run_git_rules_note(
				l->rules,
				"git: objects that the repository borrows are not there inside; \"isoctl trust "
				"%s\" lets sessions read them",
				a->repository);
	}
}

/* The session has its own there, in which nothing lasts: "core.hooksPath = /dev/null" is how hooks are switched off. */
static bool is_kernels(const char *path)
{
	return git_path_is_within(path, "/dev") || git_path_is_within(path, "/proc") ||
	       git_path_is_within(path, "/sys");
}

/* The folder of hooks itself would be more than hooks: then the hooks in it, one by one. */
static void keep_hooks(struct look *l, const char *path)
{
	if (!is_on(l, PROTECT_GIT_HOOKS) || strcmp(path, "/") == 0 || is_kernels(path))
		return;
	/* Whether it is visible is not asked: some other rule may grant it. */
	if (!git_path_is_within(l->project, path) && !git_path_is_within(l->layout.git, path) &&
	    !git_path_is_within(l->layout.common, path)) {
		run_git_rules_add(l->rules, RUN_GIT_KEEP, path);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hook_names); i++)
		run_git_rules_add_below(l->rules, RUN_GIT_KEEP, path, hook_names[i]);
}

/* Configuration that the repository's or the user's own draws in from where a session writes: on the host it runs what
 * it names. */
static void keep_includes(struct look *l)
{
	const struct git_values *v = &l->values;

	if (!is_on(l, PROTECT_GIT_CONFIG))
		return;
	for (size_t i = 0; i < v->n_includes; i++)
		if (!is_kernels(v->includes[i]))
			run_git_rules_add(l->rules, RUN_GIT_KEEP, v->includes[i]);
}

/* Hooks that lie elsewhere run inside too, where the user's own configuration or a trusted one says so. */
static void grant_hooks(struct look *l, const char *path, enum git_scope scope)
{
	_cleanup_close_ int fd = -1;
	enum git_refusal r;

	if (scope == GIT_SYSTEM)
		return;
	if (!is_visible(l, path) && !is_kernels(path)) {
		if (scope != GIT_GLOBAL && !is_trusted(l)) {
			run_git_rules_note(l->rules, "git: the hooks in %s do not run inside", path);
			return;
		}
		r = git_folder_is_forbidden(path, &l->caller.user) ? GIT_FORBIDDEN_PLACE
								   : git_folder_open(path, &l->caller.user, &fd);
		if (r == GIT_ABSENT)
			return;
		if (r != GIT_ACCEPTED) {
			run_git_rules_note(l->rules, "git: the hooks in %s do not run inside: it %s", path,
					   git_refusal_text(r));
			return;
		}
		run_git_rules_add(l->rules, RUN_GIT_READ, path);
	}
	if (scope == GIT_GLOBAL)
		run_git_rules_set(l->rules, "core.hooksPath", path);
}

static void look_at_hooks(struct look *l)
{
	const struct git_values *v = &l->values;

	for (size_t i = 0; i < v->n_hooks; i++) {
		keep_hooks(l, v->hooks[i].path);
		if (v->hooks[i].counts)
			grant_hooks(l, v->hooks[i].path, v->hooks[i].scope);
	}
	if (v->bad || v->more_hooks || v->more_includes)
		run_git_rules_note(
			l->rules,
			"git: the configuration of the repository is not understood; folders of hooks and files that "
			"it names may not be read-only");
}

/* What is ignored everywhere, so that status says inside what it says outside. */
static void grant_excludes(struct look *l)
{
	char path[PATH_MAX];
	struct stat st;
	bool named = l->values.excludes[0] != '\0';

	if (!l->caller.user.home)
		return;
	if (git_path_join(l->caller.user.home, ".config/git/ignore", path, sizeof(path)) < 0)
		return;
	if (named)
		memcpy(path, l->values.excludes, sizeof(path));
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != l->caller.user.uid)
		return;
	if (named && (git_folder_is_forbidden(path, &l->caller.user) || !git_path_is_within(path, l->caller.user.home)))
		return;
	if (!is_visible(l, path))
		run_git_rules_add(l->rules, RUN_GIT_READ, path);
	if (named)
		run_git_rules_set(l->rules, "core.excludesFile", path);
}

/* The repository's and the machine's configuration are there inside; the user's is not. */
static void pass_settings(struct look *l)
{
	const struct git_layout *layout = &l->layout;

	for (size_t i = 0; i < l->values.count; i++) {
		const struct git_value *v = &l->values.values[i];

		if (v->is_set && v->is_plain && v->scope == GIT_GLOBAL)
			run_git_rules_set(l->rules, v->name, v->value);
	}
	if (l->values.signs) {
		run_git_rules_set(l->rules, "commit.gpgSign", "false");
		run_git_rules_set(l->rules, "tag.gpgSign", "false");
		run_git_rules_note(l->rules, "git: commits made inside are not signed, the keys stay outside");
	}
	/* A tree of another user's, as a whole: git would refuse it. Within the sandbox, what it runs does no harm. */
	if (layout->kind != GIT_PLAIN || layout->above || layout->top_owner == l->caller.user.uid)
		return;
	if (layout->top_owner == layout->git_owner)
		run_git_rules_set(l->rules, "safe.directory", layout->top);
	else
		run_git_rules_note(l->rules,
				   "git: %s/.git does not belong to the owner of the folder, so git refuses it",
				   layout->top);
}

/* Who sets git's variables himself is left alone. */
static bool has_settings(const struct policy *p, const struct run_environment *environment)
{
	for (size_t i = 0; i < environment->n_variables; i++)
		if (strncmp(environment->variables[i].name, "GIT_CONFIG", 10) == 0)
			return true;
	for (size_t i = 0; i < p->n_environment_set; i++)
		if (strncmp(p->environment_set[i].name, "GIT_CONFIG", 10) == 0)
			return true;
	return false;
}

static int collect(struct look *l, struct error *e)
{
	struct error unread = ERROR_INIT;
	char *file = trust_path();
	int r = git_layout_find(l->project, &l->caller.user, &l->layout);

	if (r == 0)
		r = git_values_read(&l->caller.files, &l->layout, &l->caller.user, &l->values);
	if (r == 0 && file && trust_read(file, &l->trust, &unread) < 0)
		run_git_rules_note(l->rules, "git: %s: %s", file, unread.message);
	free(file);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "git", "", "There is no memory left.");
	if (l->layout.kind != GIT_NONE) {
		grant(l);
		keep(l);
		look_at_work_tree(l);
		grant_alternates(l);
		if (is_visible(l, l->layout.git))
			run_git_masked_note(&l->layout, l->project, l->caller.user.home, l->policy, l->rules);
	}
	look_at_hooks(l);
	keep_includes(l);
	grant_excludes(l);
	pass_settings(l);
	if (has_settings(l->policy, l->environment)) {
		l->rules->settings.len = 0;
		l->rules->n_settings = 0;
	}
	if (l->rules->error < 0)
		return error_set(e, ERROR_LIMIT, -l->rules->error, "git",
				 "Move the worktrees that are not needed away.",
				 "The rules for the repository here are too long.");
	return 0;
}

int run_git_collect(const char *project, const struct policy *policy, const struct run_environment *environment,
		    struct run_git_rules *ret, struct error *e)
{
	struct look *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "git", "", "There is no memory left.");
	l->project = project;
	l->policy = policy;
	l->environment = environment;
	l->rules = ret;
	git_caller_init(&l->caller);
	l->own = (struct policy_rules)POLICY_RULES_INIT;
	r = collect(l, e);
	git_layout_done(&l->layout);
	git_values_done(&l->values);
	trust_done(&l->trust);
	path_rules_free(l->compiled);
	policy_rules_done(&l->own);
	free(l);
	return r;
}
