/* isoctl trust: which repositories' git folders sessions may use, and which policy files may lend, said once by the
 * user. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/command.h"
#include "client/escape.h"
#include "client/run/git_caller.h"
#include "client/listing.h"
#include "client/report.h"
#include "client/policy/policy_texts.h"
#include "client/policy/trust.h"
#include "git/git_layout.h"
#include "git/git_repository.h"
#include "json/write.h"

struct trust_options {
	int list;
	int remove;
	int json;
	int policy;
};

static const struct option options[] = {
	{ "list", 'l', NULL, "the repositories and policy files that are trusted", OPTION_SET,
	  offsetof(struct trust_options, list), 1 },
	{ "remove", 'r', NULL, "trust it no longer", OPTION_SET, offsetof(struct trust_options, remove), 1 },
	{ "json", 'j', NULL, "the list as one JSON object", OPTION_SET, offsetof(struct trust_options, json), 1 },
	{ "policy", 'p', NULL, "PATH is a policy file: it may lend what else only your own policy may", OPTION_SET,
	  offsetof(struct trust_options, policy), 1 },
	OPTION_END,
};

static void print_path(const char *before, const char *path, const char *after)
{
	fputs(before, stdout);
	escape_print(stdout, path);
	fputs(after, stdout);
}

static int print_json(const struct trust *t)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(2 * TRUST_FILE_MAX);
	struct json_writer *w = json_write_new(&out);

	json_write_object(w);
	json_write_key(w, "repositories");
	json_write_array(w);
	for (size_t i = 0; i < t->count; i++) {
		json_write_object(w);
		json_write_member_string(w, "path", t->items[i].path);
		if (t->items[i].work_tree)
			json_write_member_string(w, "workTree", t->items[i].work_tree);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_key(w, "policies");
	json_write_array(w);
	for (size_t i = 0; i < t->n_policies; i++) {
		json_write_object(w);
		json_write_member_string(w, "path", t->policies[i].path);
		json_write_member_string(w, "sha256", t->policies[i].digest);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_object_end(w);
	if (json_write_finish(w) < 0 || buffer_append_string(&out, "\n") < 0)
		return 1;
	return listing_print(&out);
}

static int list(const char *file, bool json, struct error *e)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	int r = trust_read(file, &t, e);

	if (r < 0)
		return r;
	if (json)
		return print_json(&t) ? -EIO : 0;
	for (size_t i = 0; i < t.count; i++) {
		print_path("", t.items[i].path, "");
		if (t.items[i].work_tree)
			print_path(" for ", t.items[i].work_tree, "");
		fputc('\n', stdout);
	}
	for (size_t i = 0; i < t.n_policies; i++) {
		printf("policy %s ", t.policies[i].digest);
		print_path("", t.policies[i].path, "\n");
	}
	return 0;
}

/* A policy file: what it says now is trusted, or is no longer. */
static int change_policy(const char *file, const char *typed, bool remove, struct error *e)
{
	_cleanup_free_ char *path = realpath(typed, NULL);
	struct policy_texts texts = { .count = 0 };
	char digest[TRUST_DIGEST_SIZE] = "";
	int r;

	/* One that is gone can still be taken out by its path. */
	if (!path && remove)
		path = strdup(typed);
	if (!path)
		return error_set(e, ERROR_INVALID, errno, typed, "", "There is no such file: %s.", strerror(errno));
	r = policy_texts_add_file(&texts, POLICY_FILE, path, e);
	if (r == 0 && trust_digest(texts.inputs[0].text, texts.inputs[0].len, digest) < 0)
		r = error_set(e, ERROR_INTERNAL, EIO, typed, "", "The SHA-256 of this file cannot be made.");
	if (remove)
		r = trust_remove_policy(file, digest, path, e);
	else if (r == 0)
		r = trust_add_policy(file, digest, path, e);
	policy_texts_done(&texts);
	if (remove && r == 0)
		return error_set(e, ERROR_INVALID, ENOENT, typed, "isoctl trust --list shows what is.",
				 "This is not trusted.");
	if (r >= 0 && !remove)
		print_path("trusted, as long as it does not change: ", path, "\n");
	return r < 0 ? r : 0;
}

static int refuse(const char *path, enum git_refusal r, struct error *e)
{
	return error_set(e, ERROR_REFUSED, EPERM, path, "", "It cannot be trusted: it %s.", git_refusal_text(r));
}

/* What the folder typed stands for. *ret_tree: set where nothing but the user's word ties it to the git folder. */
static int find(const char *typed, struct git_caller *caller, struct git_layout *l, struct git_identity *ret_identity,
		const char **ret_tree, struct error *e)
{
	_cleanup_free_ char *path = realpath(typed, NULL);
	char main_path[PATH_MAX];
	enum git_refusal r;

	if (!path)
		return error_set(e, ERROR_INVALID, errno, typed, "", "There is no such folder: %s.", strerror(errno));
	if (git_layout_find(path, &caller->user, l) < 0)
		return error_set(e, ERROR_INTERNAL, ENOMEM, typed, "", "There is no memory left.");
	if (l->kind == GIT_NONE)
		return error_set(e, ERROR_INVALID, ENOENT, typed, "Name a folder of a repository.",
				 "There is no git repository here.");
	if (l->refusal != GIT_ACCEPTED)
		return refuse(l->about, l->refusal, e);
	r = git_repository_main(l->main, &caller->user, main_path, sizeof(main_path), ret_identity);
	if (r != GIT_ACCEPTED)
		return refuse(l->main, r, e);
	memcpy(l->main, main_path, sizeof(l->main));
	*ret_tree = l->kind == GIT_SEPARATE ? l->top : NULL;
	return 0;
}

static int add(const char *file, const char *typed, struct error *e)
{
	_cleanup_free_ struct git_caller *caller = malloc(sizeof(*caller));
	_cleanup_free_ struct git_layout *l = calloc(1, sizeof(*l));
	struct git_identity identity;
	const char *tree = NULL;
	int r;

	if (!caller || !l)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "trust", "", "There is no memory left.");
	git_caller_init(caller);
	r = find(typed, caller, l, &identity, &tree, e);
	if (r == 0)
		r = trust_add(file, l->main, &identity, tree, e);
	if (r == 0) {
		print_path("trusted: ", l->main, tree ? " for " : "\n");
		if (tree)
			print_path("", tree, "\n");
	}
	git_layout_done(l);
	return r;
}

/* A path that is in the list, or a folder of a repository that is. */
static int remove_entry(const char *file, const char *typed, struct error *e)
{
	_cleanup_free_ struct git_caller *caller = malloc(sizeof(*caller));
	_cleanup_free_ struct git_layout *l = calloc(1, sizeof(*l));
	struct error ignored = ERROR_INIT;
	struct git_identity identity;
	const char *tree = NULL;
	int r = trust_remove(file, typed, e);

	if (r != 0)
		return r < 0 ? r : 0;
	if (!caller || !l)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "trust", "", "There is no memory left.");
	git_caller_init(caller);
	if (find(typed, caller, l, &identity, &tree, &ignored) == 0)
		r = trust_remove(file, l->main, e);
	git_layout_done(l);
	if (r == 0)
		return error_set(e, ERROR_INVALID, ENOENT, typed, "isoctl trust --list shows what is.",
				 "This is not trusted.");
	return r < 0 ? r : 0;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct trust_options *o = filled;
	const char *typed = n_operands > 0 ? operands[0] : ".";
	_cleanup_free_ char *file = trust_path();
	struct error e = ERROR_INIT;
	int r;

	if (!file)
		r = error_set(&e, ERROR_INVALID, ENOENT, "trust", "", "There is no home folder to keep it in.");
	else if (o->list || o->json)
		r = list(file, o->json, &e);
	else if (o->policy && n_operands == 0)
		r = error_set(&e, ERROR_INVALID, EINVAL, "trust", "", "Name the policy file.");
	else if (o->policy)
		r = change_policy(file, typed, o->remove, &e);
	else if (o->remove)
		r = remove_entry(file, typed, &e);
	else
		r = add(file, typed, &e);
	if (r < 0)
		report_error(&e);
	return r < 0 ? 1 : 0;
}

const struct command command_trust = {
	.name = "trust",
	.operands = "[PATH]",
	.summary =
		"Let sessions use the git folder of the repository at PATH (here), where it lies outside their project",
	.details =
		"For linked worktrees, submodules and folders within a repository: git needs its git folder, which is\n"
		"not in the project then. Once the repository is trusted, a session in one of them may read and write\n"
		"that folder; hooks, configuration and other worktrees stay read-only. A session in a folder within a\n"
		"repository may read the whole work tree. The folder must be yours alone and must point back to the\n"
		"project: a .git file that says otherwise opens nothing.\n\n"
		"With --policy: a file for isoctl run --policy may say what it lends of the host and of yours (ports, "
		"Unix\n"
		"sockets, keys of agents). Read it before: what counts are its bytes of now, and any change ends the "
		"trust.\n",
	.options = options,
	.options_size = sizeof(struct trust_options),
	.min_operands = 0,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
