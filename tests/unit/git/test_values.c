/* Which settings count, from which file, and which may go into a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "git/git_values.h"

static char root[64], system_file[128], global_file[128];
static struct git_user user;
static struct git_layout layout;
static struct git_values values;
static const struct git_settings_files files = { .system = system_file, .global = { NULL, global_file } };

static void put(const char *name, const char *text)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int set_up(void **state)
{
	static const char *const folders[] = { "p",           "p/.git",           "p/.git/objects",
					       "p/.git/refs", "p/.git/worktrees", "p/.git/worktrees/one" };
	char path[PATH_MAX];

	snprintf(root, sizeof(root), "/tmp/git-values-XXXXXX");
	assert_non_null(mkdtemp(root));
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	put("p/.git/HEAD", "ref: refs/heads/feature/x\n");
	put("p/.git/config", "");
	snprintf(system_file, sizeof(system_file), "%s/system", root);
	snprintf(global_file, sizeof(global_file), "%s/global", root);
	user = (struct git_user){ .uid = geteuid(), .group = (gid_t)-1, .home = root };
	snprintf(path, sizeof(path), "%s/p", root);
	return git_layout_find(path, &user, &layout);
}

static int tear_down(void **state)
{
	char command[128];

	git_values_done(&values);
	git_layout_done(&layout);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); // NOLINT(cert-env33-c)
}

static void read_again(void)
{
	git_values_done(&values);
	assert_int_equal(git_values_read(&files, &layout, &user, &values), 0);
}

static const struct git_value *get(const char *name)
{
	for (size_t i = 0; i < values.count; i++)
		if (strcmp(values.values[i].name, name) == 0)
			return &values.values[i];
	fail_msg("no value is called %s", name);
	return NULL;
}

static void scopes(void **state)
{
	put("system", "[user]\nname = S\n[core]\nautocrlf=input\n");
	put("global", "[user]\nname = G\nemail = g@x\n");
	put("p/.git/config", "[user]\nemail = l@x\n");
	read_again();
	assert_string_equal(get("user.name")->value, "G");
	assert_int_equal(get("user.name")->scope, GIT_GLOBAL);
	assert_string_equal(get("user.email")->value, "l@x");
	assert_int_equal(get("user.email")->scope, GIT_LOCAL);
	assert_int_equal(get("core.autocrlf")->scope, GIT_SYSTEM);
	assert_false(get("push.default")->is_set);
	assert_false(values.bad);
}

static void not_plain(void **state)
{
	put("global",
	    "[user]\nname = \"a\\nb\"\n[init]\ndefaultBranch = \xff\n[filter \"lfs\"]\nclean = rm -rf\nrequired\n"
	    "[author]\nname = \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n[committer]\nname = \xc2\x85\nemail = "
	    "\xed\xa0\x80\n");
	read_again();
	assert_false(get("user.name")->is_plain);
	assert_false(get("init.defaultBranch")->is_plain);
	assert_false(get("filter.lfs.clean")->is_plain);
	assert_true(get("filter.lfs.required")->is_plain);
	assert_string_equal(get("filter.lfs.required")->value, "true");
	assert_true(get("author.name")->is_plain);
	assert_false(get("committer.name")->is_plain);
	assert_false(get("committer.email")->is_plain);
}

static void includes(void **state)
{
	char text[1024];

	put("work", "[user]\nemail = work@x\n");
	put("branch", "[user]\nname = Branch\n");
	put("maybe", "[core]\nhooksPath = maybe-hooks\n[user]\nname = Maybe\n");
	put("loop", "[include]\npath = loop\n[push]\ndefault = current\n");
	snprintf(text, sizeof(text),
		 "[user]\nemail = g@x\n[includeIf \"gitdir:%s/\"]\npath = work\n[includeIf \"gitdir:/other/\"]\npath = "
		 "other\n"
		 "[includeIf \"onbranch:feature/\"]\npath = ~/branch\n[includeIf \"hasconfig:remote.*.url:x\"]\npath = "
		 "maybe\n"
		 "[include]\npath = loop\n[include]\npath = ~/nothing\n",
		 root);
	put("global", text);
	put("other", "[user]\nemail = other@x\n");
	read_again();
	assert_string_equal(get("user.email")->value, "work@x");
	assert_string_equal(get("user.name")->value, "Branch");
	assert_string_equal(get("push.default")->value, "current");
	assert_int_equal(values.n_hooks, 1);
	assert_false(values.hooks[0].counts);
	assert_int_equal(values.n_includes, 6);
	assert_string_equal(values.includes[5] + strlen(root), "/nothing");
}

/* A session changes branches: what is drawn in on another one is known, but does not count. */
static void includes_of_another_branch(void **state)
{
	put("p/.git/config", "[includeIf \"onbranch:main\"]\npath = ../of-main\n");
	put("p/of-main", "[core]\nhooksPath = main-hooks\n[user]\nname = Main\n[include]\npath = more\n");
	read_again();
	assert_false(get("user.name")->is_set);
	assert_int_equal(values.n_hooks, 1);
	assert_false(values.hooks[0].counts);
	assert_int_equal(values.n_includes, 2);
	assert_string_equal(values.includes[0] + strlen(root), "/p/of-main");
	assert_string_equal(values.includes[1] + strlen(root), "/p/more");
}

static void hooks(void **state)
{
	char path[128];

	put("global", "[core]\nhooksPath = ~/my-hooks\nexcludesFile = ~/ignored\n[commit]\ngpgSign\n");
	put("p/.git/config", "[core]\nhooksPath = .githooks\n[extensions]\nworktreeConfig = true\n");
	put("p/.git/config.worktree", "[core]\nhooksPath = .husky/_\n");
	read_again();
	assert_int_equal(values.n_hooks, 3);
	assert_false(values.hooks[0].counts || values.hooks[1].counts);
	assert_true(values.hooks[2].counts);
	snprintf(path, sizeof(path), "%s/my-hooks", root);
	assert_string_equal(values.hooks[0].path, path);
	snprintf(path, sizeof(path), "%s/p/.husky/_", root);
	assert_string_equal(values.hooks[2].path, path);
	assert_int_equal(values.hooks[2].scope, GIT_OF_WORKTREE);
	assert_true(values.signs);
	snprintf(path, sizeof(path), "%s/ignored", root);
	assert_string_equal(values.excludes, path);
	put("p/.git/config", "[commit]\ngpgsign = false\n");
	read_again();
	assert_int_equal(values.n_hooks, 1);
	assert_false(values.signs);
}

static void bad_files(void **state)
{
	char path[PATH_MAX];

	put("p/.git/config", "[core]\nhooksPath = a\n]\n");
	read_again();
	assert_true(values.bad);
	assert_int_equal(values.n_hooks, 1);
	snprintf(path, sizeof(path), "%s/p/.git/config", root);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(global_file, path), 0);
	read_again();
	assert_true(values.bad);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	read_again();
	assert_true(values.bad);
	assert_int_equal(unlink(global_file) < 0, 1);
	assert_int_equal(mkfifo(global_file, 0600), 0);
	read_again();
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(scopes),   TEST(not_plain),
					    TEST(includes), TEST(includes_of_another_branch),
					    TEST(hooks),    TEST(bad_files) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
