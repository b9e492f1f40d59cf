/* What the built-in tables say about the files that people have, in a project, and in a HOME that is granted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "view/path_pattern.h"
#include "view/path_rules.h"
#include "view/protect.h"
#include "view/toolchain.h"

#define RULES_MAX 1024

/* "~/x" of the tables, for HOME = /h. */
static struct path_rule rules[RULES_MAX];
static char patterns[RULES_MAX][128];
static size_t n_rules;

static void add(const struct path_rule *rule)
{
	assert_true(n_rules < RULES_MAX);
	snprintf(patterns[n_rules], sizeof(patterns[0]), "%s%s", rule->pattern[0] == '~' ? "/h" : "",
		 rule->pattern + (rule->pattern[0] == '~'));
	rules[n_rules] = *rule;
	rules[n_rules].pattern = patterns[n_rules];
	n_rules++;
}

static void add_granted(const char *path, enum path_effect effect)
{
	const struct path_rule rule = { .effect = effect, .pattern = path };

	add(&rule);
}

static void add_protections(bool all)
{
	for (size_t i = 0; i < n_protect_rules; i++)
		if (all || protect_names[protect_rules[i].group].on)
			add(&protect_rules[i]);
}

struct expectation {
	const char *path;
	enum path_kind kind;
	enum path_access access;
};

static void check(const struct expectation *list, size_t n)
{
	_cleanup_path_rules_ struct path_rules *r = NULL;

	assert_int_equal(path_rules_new(rules, n_rules, &r), 0);
	for (size_t i = 0; i < n; i++) {
		struct path_verdict v;

		path_rules_decide(r, list[i].path, list[i].kind, &v);
		if (v.access != list[i].access)
			fail_msg("%s (kind %d): %d, by %s", list[i].path, list[i].kind, v.access,
				 v.write_rule == PATH_NO_RULE ? "nothing" : rules[v.write_rule].pattern);
	}
}

#define FILE_IS(path, access)                                                                                          \
	{                                                                                                              \
		path, PATH_FILE, access                                                                                \
	}
#define FOLDER_IS(path, access)                                                                                        \
	{                                                                                                              \
		path, PATH_FOLDER, access                                                                              \
	}
#define MASKED(path) FILE_IS(path, PATH_DENIED)
#define LOCKED(path) FILE_IS(path, PATH_READABLE)
#define FREE(path) FILE_IS(path, PATH_WRITABLE)

static const struct expectation secrets[] = {
	MASKED("/p/.env"),
	MASKED("/p/a/b/.env.local"),
	MASKED("/p/.env.production"),
	FREE("/p/.env.example"),
	FREE("/p/a/.env.sample"),
	FREE("/p/.env.template"),
	FREE("/p/.env.production.example"),
	FREE("/p/.envision"),
	FREE("/p/x.env"),
	FOLDER_IS("/p/.env", PATH_WRITABLE),
	FREE("/p/.env/bin/python"),
	MASKED("/p/tls/server.pem"),
	FREE("/p/.venv/lib/python3.12/site-packages/certifi/cacert.pem"),
	FREE("/p/.venv/lib/python3.12/site-packages/pip/_vendor/certifi/cacert.pem"),
	FREE("/p/x/grpc/_cython/_credentials/roots.pem"),
	MASKED("/p/id_rsa"),
	MASKED("/p/id_ed25519_work"),
	FREE("/p/id_ed25519.pub"),
	FREE("/p/id_generator.py"),
	MASKED("/p/a.p12"),
	MASKED("/p/a.kdbx"),
	MASKED("/p/release.keystore"),
	FREE("/p/android/app/debug.keystore"),
	MASKED("/p/server.key"),
	{ "/p/slides.key", PATH_FILE_WITHOUT_TOKEN, PATH_WRITABLE },
	MASKED("/p/.npmrc"),
	{ "/p/.npmrc", PATH_FILE_WITHOUT_TOKEN, PATH_WRITABLE },
	{ "/p/.netrc", PATH_FILE_WITHOUT_TOKEN, PATH_DENIED },
	MASKED("/p/.pypirc"),
	MASKED("/p/_netrc"),
	MASKED("/p/.git-credentials"),
	MASKED("/p/credentials"),
	MASKED("/p/credentials.json"),
	MASKED("/p/credentials-prod.yaml"),
	MASKED("/p/gcp-credentials.json"),
	FREE("/p/src/credentials.py"),
	FREE("/p/src/credentials_test.go"),
	MASKED("/p/application_default_credentials.json"),
	MASKED("/p/service-account-prod.json"),
	MASKED("/p/.aws/credentials"),
	MASKED("/p/.kube/config"),
	MASKED("/p/kubeconfig"),
	MASKED("/p/.docker/config.json"),
	MASKED("/p/terraform.tfstate"),
	MASKED("/p/terraform.tfstate.backup"),
	FREE("/p/main.tf"),
	MASKED("/p/.ssh/known_hosts"),
	MASKED("/h/.ssh/id_ed25519"),
	MASKED("/h/.gnupg/private-keys-v1.d/a.key"),
	MASKED("/h/.config/gcloud/access_tokens.db"),
	MASKED("/h/.config/gh/hosts.yml"),
	MASKED("/h/.cargo/credentials.toml"),
	MASKED("/h/.cargo/credentials"),
	MASKED("/h/.gem/credentials"),
	MASKED("/h/.terraform.d/credentials.tfrc.json"),
	MASKED("/h/.azure/msal_token_cache.json"),
	MASKED("/h/.pgpass"),
	MASKED("/h/.bash_history"),
	MASKED("/h/.mozilla/firefox/x/logins.json"),
	/* Nothing is granted there: the system's own certificates, the session's own /tmp. */
	FILE_IS("/etc/ssl/certs/x.pem", PATH_ABSENT),
	FILE_IS("/tmp/.env", PATH_ABSENT),
};

static void secrets_are_masked(void **state)
{
	n_rules = 0;
	add_granted("/p", PATH_ALLOW_WRITE);
	add_granted("/h", PATH_ALLOW_WRITE);
	add_protections(false);
	check(secrets, ARRAY_SIZE(secrets));
}

static const struct expectation later_run[] = {
	LOCKED("/p/.git/hooks/pre-commit"),
	FOLDER_IS("/p/.git/hooks", PATH_READABLE),
	LOCKED("/p/.git/modules/lib/hooks/post-checkout"),
	LOCKED("/p/.git/modules/a/modules/b/hooks/x"),
	LOCKED("/p/.githooks/pre-commit"),
	LOCKED("/p/.git/config"),
	LOCKED("/p/.git/config.worktree"),
	LOCKED("/p/.git/modules/lib/config"),
	LOCKED("/p/.git/worktrees/w/gitdir"),
	LOCKED("/p/.git/worktrees/w/commondir"),
	LOCKED("/p/.git/objects/info/alternates"),
	LOCKED("/p/sub/.git"),
	LOCKED("/p/.gitmodules"),
	/* What commit, checkout, rebase, stash and worktree add write. */
	FREE("/p/.git/index"),
	FREE("/p/.git/index.lock"),
	FREE("/p/.git/HEAD"),
	FREE("/p/.git/COMMIT_EDITMSG"),
	FREE("/p/.git/refs/heads/main"),
	FREE("/p/.git/refs/stash"),
	FREE("/p/.git/logs/HEAD"),
	FREE("/p/.git/objects/ab/cdef"),
	FREE("/p/.git/packed-refs"),
	FREE("/p/.git/rebase-merge/git-rebase-todo"),
	FREE("/p/.git/worktrees/w/HEAD"),
	FREE("/p/.git/worktrees/w/index"),
	FREE("/p/.git/info/exclude"),
	FREE("/p/.git/modules/lib/index"),
	FOLDER_IS("/p/.git", PATH_WRITABLE),
	FOLDER_IS("/p/.git/worktrees", PATH_WRITABLE),
	LOCKED("/p/.claude/settings.json"),
	LOCKED("/p/.claude/settings.local.json"),
	LOCKED("/p/.claude/hooks/x.sh"),
	LOCKED("/p/.claude/commands/c.md"),
	LOCKED("/p/.claude/agents/a.md"),
	LOCKED("/p/.claude/skills/s/SKILL.md"),
	FREE("/p/.claude/worktrees/w/a.c"),
	FREE("/p/CLAUDE.md"),
	LOCKED("/p/.mcp.json"),
	LOCKED("/p/.codex/config.toml"),
	LOCKED("/p/.gemini/settings.json"),
	LOCKED("/p/.cursor/mcp.json"),
	LOCKED("/p/.vscode/tasks.json"),
	LOCKED("/p/.idea/workspace.xml"),
	FREE("/p/node_modules/m/.vscode/settings.json"),
	FREE("/p/node_modules/.bin/.husky"),
	FREE("/p/web/node_modules/m/test/key.pem"),
	FREE("/p/node_modules/m/.env"),
	FREE("/p/.venv/lib/python3.11/site-packages/m/test/id_rsa"),
	LOCKED("/p/my_node_modules/m/.vscode/settings.json"),
	LOCKED("/p/.husky/pre-commit"),
	LOCKED("/p/.envrc"),
	LOCKED("/p/.devcontainer/devcontainer.json"),
	LOCKED("/p/.devcontainer.json"),
	LOCKED("/p/.isod.json"),
	FREE("/p/Makefile"),
	FREE("/p/pyvenv.cfg"),
	FREE("/p/.bashrc"),
	LOCKED("/h/.bashrc"),
	LOCKED("/h/.zshenv"),
	LOCKED("/h/.profile"),
	LOCKED("/h/.config/fish/config.fish"),
	LOCKED("/h/.gitconfig"),
	LOCKED("/h/.config/git/config"),
	LOCKED("/h/.claude/settings.json"),
	FREE("/h/.claude/projects/x/y.jsonl"),
	FREE("/h/.codex/sessions/x.jsonl"),
	FREE("/h/.codex/skills/.system/x"),
};

static void what_runs_later_is_read_only(void **state)
{
	n_rules = 0;
	add_granted("/p", PATH_ALLOW_WRITE);
	add_granted("/h", PATH_ALLOW_WRITE);
	add_protections(false);
	check(later_run, ARRAY_SIZE(later_run));
}

static void by_choice(void **state)
{
	static const struct expectation off[] = { FREE("/p/.gitattributes"), FREE("/p/.github/workflows/ci.yml"),
						  FREE("/p/.gitlab-ci.yml") };
	static const struct expectation on[] = { LOCKED("/p/.gitattributes"), LOCKED("/p/.github/workflows/ci.yml"),
						 LOCKED("/p/.gitlab-ci.yml") };

	n_rules = 0;
	add_granted("/p", PATH_ALLOW_WRITE);
	add_protections(false);
	check(off, ARRAY_SIZE(off));
	n_rules = 0;
	add_granted("/p", PATH_ALLOW_WRITE);
	add_protections(true);
	check(on, ARRAY_SIZE(on));
}

/* He who names a protected file gets it; he who names the folder above does not. */
static void named(void **state)
{
	static const struct expectation list[] = {
		FILE_IS("/p/.env", PATH_READABLE),
		FREE("/p/.vscode/tasks.json"),
		MASKED("/p/a/.env"),
	};

	n_rules = 0;
	add_granted("/p", PATH_ALLOW_WRITE);
	add_granted("/p/.env", PATH_ALLOW_READ);
	add_granted("/p/.vscode", PATH_ALLOW_WRITE);
	add_protections(false);
	check(list, ARRAY_SIZE(list));
}

static void tool_chains_and_caches(void **state)
{
	static const struct expectation list[] = {
		FILE_IS("/h/.nvm/versions/node/v22/bin/node", PATH_READABLE),
		FILE_IS("/h/.cargo/bin/cargo", PATH_READABLE),
		FILE_IS("/h/.local/bin/x", PATH_READABLE),
		FILE_IS("/home/linuxbrew/.linuxbrew/bin/git", PATH_READABLE),
		FILE_IS("/h/.npm/_cacache/x", PATH_OVERLAID),
		FILE_IS("/h/.cargo/registry/cache/x", PATH_OVERLAID),
		FILE_IS("/h/.cache/pip/http/x", PATH_OVERLAID),
		FILE_IS("/h/go/pkg/mod/x", PATH_OVERLAID),
		FILE_IS("/h/.local/share/pnpm/store/v3/x", PATH_OVERLAID),
		FILE_IS("/h/.local/share/uv/credentials/credentials.toml", PATH_DENIED),
		FILE_IS("/h/.pub-cache/credentials.json", PATH_DENIED),
		FILE_IS("/h/.cargo/config.toml", PATH_DENIED),
		{ "/h/.cargo/config.toml", PATH_FILE_WITHOUT_TOKEN, PATH_READABLE },
		FILE_IS("/h/miniconda3/.condarc", PATH_DENIED),
		FILE_IS("/h/.cargo/credentials.toml", PATH_ABSENT),
		FILE_IS("/h/.npmrc", PATH_ABSENT),
		FILE_IS("/h/.gem/credentials", PATH_ABSENT),
		FILE_IS("/h/.m2/settings.xml", PATH_ABSENT),
		FILE_IS("/h/.cache/mozilla/x", PATH_ABSENT),
		FILE_IS("/h/.ssh/id_rsa", PATH_ABSENT),
		/* The user's word against the table's. */
		FREE("/h/.m2/repository/x"),
		FILE_IS("/h/.gradle/caches/x", PATH_READABLE),
		FILE_IS("/h/.rustup/toolchains/x", PATH_DENIED),
	};

	n_rules = 0;
	add_granted("/h/.m2/repository", PATH_ALLOW_WRITE);
	add_granted("/h/.gradle/caches", PATH_ALLOW_READ);
	add_granted("/h/.rustup", PATH_DENY_READ);
	for (size_t i = 0; i < n_toolchain_rules; i++)
		add(&toolchain_rules[i]);
	for (size_t i = 0; i < n_cache_rules; i++)
		add(&cache_rules[i]);
	check(list, ARRAY_SIZE(list));
}

static void check_row(const struct path_rule *rule, bool protection)
{
	const char *p = rule->pattern;

	if (strncmp(p, "/**/", 4) != 0 && strncmp(p, "~/", 2) != 0 && strncmp(p, "/home/linuxbrew/", 16) != 0)
		fail_msg("%s", p);
	assert_true(rule->flags & PATH_RULE_BUILT_IN);
	assert_int_equal(rule->flags & ~(uint32_t)PATH_RULE_FLAGS_ALL, 0);
	assert_true(!(rule->flags & PATH_RULE_IF_TOKEN) || rule->flags & PATH_RULE_FILES_ONLY);
	assert_true(protection ? rule->group < PROTECT_GROUP_COUNT && (rule->group > 0 || rule->effect == PATH_EXEMPT)
			       : rule->group == 0);
	if (protection)
		assert_true(rule->effect == PATH_DENY_READ || rule->effect == PATH_DENY_WRITE ||
			    rule->effect == PATH_EXEMPT);
}

static void tables(void **state)
{
	uint32_t last = 0;
	bool has[PROTECT_GROUP_COUNT] = { true };

	for (size_t i = 0; i < n_protect_rules; i++) {
		check_row(&protect_rules[i], true);
		assert_true(protect_rules[i].group >= last);
		last = protect_rules[i].group;
		has[last] = true;
		for (size_t k = 0; k < i; k++)
			if (strcmp(protect_rules[i].pattern, protect_rules[k].pattern) == 0)
				fail_msg("%s is there twice", protect_rules[i].pattern);
	}
	for (size_t i = 0; i < PROTECT_GROUP_COUNT; i++)
		assert_true(has[i] && protect_names[i].name);
	for (size_t i = 0; i < n_toolchain_rules; i++)
		check_row(&toolchain_rules[i], false);
	for (size_t i = 0; i < n_cache_rules; i++) {
		check_row(&cache_rules[i], false);
		assert_true(path_pattern_is_literal(cache_rules[i].pattern));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		cmocka_unit_test(secrets_are_masked),
		cmocka_unit_test(what_runs_later_is_read_only),
		cmocka_unit_test(by_choice),
		cmocka_unit_test(named),
		cmocka_unit_test(tool_chains_and_caches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
