#ifndef ISOD_VIEW_PROTECT_H
#define ISOD_VIEW_PROTECT_H
/*
 * The built-in protections: files that hold secrets are masked, files that run something on the host later are
 * read-only. Each group is a switch of the policy, "sandbox.filesystem.protect": { "NAME": bool }.
 */
#include <stdbool.h>
#include <stddef.h>

#include "view/path_rules.h"

enum protect_group {
	PROTECT_NONE,
	/* masked */
	PROTECT_DOTENV, /* .env, .env.* without .example, .sample, .template */
	PROTECT_KEYS,   /* *.pem, *.key, id_*, *.p12, *.pfx, *.kdbx, *.jks ... */
	PROTECT_TOKENS, /* .npmrc, .netrc, .pypirc, credentials*, .git-credentials ... */
	PROTECT_CLOUD,  /* kube, aws, gcloud, azure, docker config ... */
	/* read-only, on */
	PROTECT_GIT_HOOKS,
	PROTECT_GIT_CONFIG, /* config, config.worktree, .gitmodules, a .git that is a file, commondir, gitdir,
			       info/attributes */
	PROTECT_AGENT_SETTINGS,
	PROTECT_EDITOR_SETTINGS,
	PROTECT_HOOK_MANAGERS, /* .husky, .pre-commit-config.yaml, lefthook ... */
	PROTECT_DIRENV,        /* .envrc, .tool-versions' kin that run code: mise.toml ... */
	PROTECT_DEVCONTAINER,
	PROTECT_ISOD, /* .isod.json */
	PROTECT_SHELL_RC,
	PROTECT_USER_GIT, /* ~/.gitconfig, ~/.config/git */
	/* read-only, off unless asked for */
	PROTECT_GIT_ATTRIBUTES,
	PROTECT_WORKFLOWS, /* .github/workflows, .gitlab-ci.yml ... */
	PROTECT_GROUP_COUNT
};

struct protect_name {
	const char *name; /* the switch */
	bool on;          /* without a policy that says otherwise */
};

extern const struct protect_name protect_names[PROTECT_GROUP_COUNT];

/* The rules of all groups, in the order of enum protect_group; patterns that begin with "/", or "~/" where they are
 * about the caller's home (to be expanded by whoever uses them). */
extern const struct path_rule protect_rules[];
extern const size_t n_protect_rules;

#endif
