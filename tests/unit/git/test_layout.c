/* Folders laid out as git lays them out, and forged ones: made by hand, so that each file says what it says here. */
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
#include "git/git_layout.h"

static char root[64];
static struct git_user user;
static struct git_layout layout;

static const char *at(const char *path)
{
	static char out[4][PATH_MAX];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(out[turn], PATH_MAX, "%s%s%s", root, path[0] ? "/" : "", path);
	return out[turn];
}

static void folder(const char *path)
{
	char whole[PATH_MAX];

	snprintf(whole, sizeof(whole), "%s/", at(path));
	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(whole, 0755);
		*slash = '/';
	}
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(at(path), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void repository(const char *path)
{
	char name[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, i ? "objects/info" : "refs");
		folder(name);
	}
	snprintf(name, sizeof(name), "%s/HEAD", path);
	put(name, "ref: refs/heads/main\n");
	snprintf(name, sizeof(name), "%s/config", path);
	put(name, "[core]\n\tbare = false\n");
}

/* A linked worktree of main/.git at tree. */
static void worktree(const char *name, const char *tree)
{
	char path[PATH_MAX], text[PATH_MAX + 32];

	snprintf(path, sizeof(path), "main/.git/worktrees/%s", name);
	folder(path);
	folder(tree);
	snprintf(path, sizeof(path), "main/.git/worktrees/%s/commondir", name);
	put(path, "../..\n");
	snprintf(path, sizeof(path), "main/.git/worktrees/%s/HEAD", name);
	put(path, "ref: refs/heads/side\n");
	snprintf(path, sizeof(path), "main/.git/worktrees/%s/gitdir", name);
	snprintf(text, sizeof(text), "%s/.git\n", at(tree));
	put(path, text);
	snprintf(path, sizeof(path), "%s/.git", tree);
	snprintf(text, sizeof(text), "gitdir: %s/%s\n", at("main/.git/worktrees"), name);
	put(path, text);
}

static int set_up(void **state)
{
	snprintf(root, sizeof(root), "/tmp/git-layout-XXXXXX");
	assert_non_null(mkdtemp(root));
	user = (struct git_user){ .uid = geteuid(), .group = (gid_t)-1, .home = strdup(at("home")) };
	folder("home/.ssh");
	repository("main/.git");
	memset(&layout, 0, sizeof(layout));
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	git_layout_done(&layout);
	free((char *)user.home);
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); // NOLINT(cert-env33-c)
}

static void find(const char *project)
{
	git_layout_done(&layout);
	assert_int_equal(git_layout_find(at(project), &user, &layout), 0);
}

static void refused(const char *project, enum git_refusal r)
{
	find(project);
	if (layout.refusal != r)
		fail_msg("%s: %s %s", project, layout.about, git_refusal_text(layout.refusal));
	assert_string_equal(layout.git, "");
	assert_string_equal(layout.common, "");
}

static void plain_repositories(void **state)
{
	find("main");
	assert_int_equal(layout.kind, GIT_PLAIN);
	assert_false(layout.above);
	assert_string_equal(layout.common, at("main/.git"));
	assert_false(git_layout_reaches_out(&layout, at("main")));
	folder("main/a/b");
	find("main/a/b");
	assert_int_equal(layout.kind, GIT_PLAIN);
	assert_true(layout.above);
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.top, at("main"));
	assert_true(git_layout_reaches_out(&layout, at("main/a/b")));
	folder("none/.git");
	find("none");
	assert_int_equal(layout.kind, GIT_NONE);
	repository("bare.git");
	find("bare.git");
	assert_int_equal(layout.kind, GIT_BARE);
	find("bare.git/refs");
	assert_int_equal(layout.kind, GIT_NONE);
	/* home is a repository of dotfiles: a project in it gets none of it */
	repository("home/.git");
	folder("home/work");
	find("home/work");
	assert_int_equal(layout.refusal, GIT_FORBIDDEN_PLACE);
}

static void worktrees(void **state)
{
	worktree("one", "one");
	worktree("two", "two");
	worktree("in", "main/in");
	find("one");
	assert_int_equal(layout.kind, GIT_WORKTREE);
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.git, at("main/.git/worktrees/one"));
	assert_string_equal(layout.common, at("main/.git"));
	assert_string_equal(layout.main, at("main/.git"));
	assert_true(layout.identity.inode != 0);
	assert_int_equal(layout.worktrees.count, 2);
	find("main");
	/* "in" lies in the project and may be worked on from it */
	assert_int_equal(layout.worktrees.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_null(strstr(layout.worktrees.items[i], "/in"));
	folder("one/below");
	find("one/below");
	assert_true(layout.above);
	assert_string_equal(layout.common, at("main/.git"));
	/* written relative, as newer gits can */
	put("one/.git", "gitdir: ../main/.git/worktrees/one\n");
	put("main/.git/worktrees/one/gitdir", "../../../../one/.git\n");
	find("one");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.common, at("main/.git"));
}

static void submodules(void **state)
{
	char text[PATH_MAX + 64];

	repository("main/.git/modules/libs/sub");
	put("main/.git/modules/libs/sub/config", "[core]\n\tworktree = ../../../../libs/sub\n");
	folder("main/libs/sub");
	put("main/libs/sub/.git", "gitdir: ../../.git/modules/libs/sub\n");
	find("main/libs/sub");
	assert_int_equal(layout.kind, GIT_SUBMODULE);
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.common, at("main/.git/modules/libs/sub"));
	assert_string_equal(layout.main, at("main/.git"));
	find("main");
	assert_int_equal(layout.modules.count, 1);
	/* nested, and in a linked worktree */
	repository("main/.git/modules/libs/sub/modules/deep");
	put("main/.git/modules/libs/sub/modules/deep/config", "[core]\n\tworktree = ../../../../../../libs/sub/deep\n");
	folder("main/libs/sub/deep");
	put("main/libs/sub/deep/.git", "gitdir: ../../../.git/modules/libs/sub/modules/deep\n");
	find("main/libs/sub/deep");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.main, at("main/.git"));
	find("main/libs/sub");
	assert_int_equal(layout.modules.count, 1);
	assert_string_equal(layout.modules.items[0], at("main/.git/modules/libs/sub/modules/deep"));
	worktree("one", "one");
	repository("main/.git/worktrees/one/modules/sub");
	snprintf(text, sizeof(text), "[core]\n\tworktree = %s\n", at("one/sub"));
	put("main/.git/worktrees/one/modules/sub/config", text);
	folder("one/sub");
	put("one/sub/.git", "gitdir: ../../main/.git/worktrees/one/modules/sub\n");
	find("one/sub");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.main, at("main/.git"));
	/* one that says it is somebody else's */
	put("main/.git/modules/libs/sub/config", "[core]\n\tworktree = ../../../../other\n");
	refused("main/libs/sub", GIT_NOT_POINTED_BACK);
}

static void forged(void **state)
{
	static char large[70000];

	folder("p");
	put("p/.git", "gitdir: ../home/.ssh\n");
	refused("p", GIT_FORBIDDEN_PLACE);
	put("p/.git", "gitdir: ../home\n");
	refused("p", GIT_FORBIDDEN_PLACE);
	put("p/.git", "gitdir: /etc\n");
	refused("p", GIT_FORBIDDEN_PLACE);
	put("p/.git", "gitdir: ../nothing\n");
	refused("p", GIT_ABSENT);
	put("p/.git", "gitdir: ../p\n");
	refused("p", GIT_NO_REPOSITORY);
	put("p/.git", "gitdir: .git\n");
	refused("p", GIT_UNREADABLE);
	put("p/.git", "no pointer\n");
	refused("p", GIT_NO_POINTER);
	put("p/.git", "");
	refused("p", GIT_NO_POINTER);
	memset(large, 'x', sizeof(large) - 1);
	memcpy(large, "gitdir: /", 9);
	put("p/.git", large);
	refused("p", GIT_TOO_LARGE);
	/* the folder of a worktree that knows another one */
	worktree("one", "one");
	put("p/.git", "gitdir: ../main/.git/worktrees/one\n");
	refused("p", GIT_NOT_POINTED_BACK);
	put("p/.git", "gitdir: ../main/.git/worktrees/nothing\n");
	refused("p", GIT_ABSENT);
	/* a folder that says it is a worktree's of main, and is not below it */
	folder("forged");
	put("forged/HEAD", "ref: refs/heads/x\n");
	put("forged/commondir", "../main/.git\n");
	put("forged/gitdir", at("p/.git"));
	put("p/.git", "gitdir: ../forged\n");
	refused("p", GIT_NOT_POINTED_BACK);
	/* a commondir that leads elsewhere */
	put("main/.git/worktrees/one/commondir", at("home/.ssh"));
	refused("one", GIT_NOT_POINTED_BACK);
	/* a .git folder with a commondir */
	put("main/.git/commondir", at("home/.ssh"));
	find("main");
	assert_int_equal(layout.refusal, GIT_NOT_POINTED_BACK);
}

static void links(void **state)
{
	worktree("one", "one");
	folder("p");
	assert_int_equal(symlink("main", at("link")), 0);
	put("p/.git", "gitdir: ../link/.git/worktrees/one\n");
	refused("p", GIT_THROUGH_LINK);
	assert_int_equal(symlink("loop", at("loop")), 0);
	put("p/.git", "gitdir: ../loop/x\n");
	refused("p", GIT_THROUGH_LINK);
	folder("q");
	assert_int_equal(symlink("../home/.ssh", at("q/.git")), 0);
	refused("q", GIT_THROUGH_LINK);
	repository("r/store");
	assert_int_equal(symlink("store", at("r/.git")), 0);
	find("r");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_string_equal(layout.common, at("r/store"));
	/* the worktree's own folder is a link */
	assert_int_equal(rename(at("main/.git/worktrees/one"), at("moved")), 0);
	assert_int_equal(symlink(at("moved"), at("main/.git/worktrees/one")), 0);
	refused("one", GIT_THROUGH_LINK);
}

static void owners(void **state)
{
	worktree("one", "one");
	assert_int_equal(chmod(at("main/.git"), 0777), 0);
	refused("one", GIT_WRITABLE_BY_OTHERS);
	assert_int_equal(chmod(at("main/.git"), 0775), 0);
	refused("one", GIT_WRITABLE_BY_OTHERS);
	user.group = getegid();
	find("one");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_int_equal(chmod(at("main"), 0777), 0);
	refused("one", GIT_WRITABLE_BY_OTHERS);
	assert_int_equal(chmod(at("main"), 01777), 0);
	find("one");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	/* a folder on the way that a group may write to: the user's own one, one of several */
	assert_int_equal(chmod(at("main/.git"), 0755), 0);
	assert_int_equal(chmod(at("main"), 0775), 0);
	find("one");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	user.group = (gid_t)-1;
	refused("one", GIT_WRITABLE_BY_OTHERS);
	assert_int_equal(chmod(at("main"), 01775), 0);
	find("one");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	user.uid++;
	refused("one", GIT_FOREIGN);
}

static void places(void **state)
{
	static const struct {
		const char *path;
		bool forbidden;
	} all[] = {
		{ "/", true },
		{ "/etc/x", true },
		{ "/run", true },
		{ "/run/user/1000/x", true },
		{ "/run/media", true },
		{ "/run/mediax/u", true },
		{ "/run/media/u/stick/p/.git", false },
		{ "/media/u/stick/p/.git", false },
		{ "/mnt/p/.git", false },
		{ "/srv/p/.git", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (git_folder_is_forbidden(all[i].path, &user) != all[i].forbidden)
			fail_msg("%s", all[i].path);
	assert_true(git_folder_is_forbidden(at("home/.ssh/x"), &user));
	assert_true(git_folder_is_forbidden(at("home"), &user));
	assert_false(git_folder_is_forbidden(at("home/p/.git"), &user));
}

static void alternates(void **state)
{
	repository("store.git");
	repository("deep.git");
	put("main/.git/objects/info/alternates", "../../../store.git/objects\n/nothing/objects\n../../../home/.ssh\n");
	put("store.git/objects/info/alternates", "../../deep.git/objects\n../../store.git/objects\n");
	find("main");
	assert_int_equal(layout.n_alternates, 4);
	assert_string_equal(layout.alternates[0].objects, at("store.git/objects"));
	assert_string_equal(layout.alternates[0].repository, at("store.git"));
	assert_int_equal(layout.alternates[0].refusal, GIT_ACCEPTED);
	assert_int_equal(layout.alternates[1].refusal, GIT_ABSENT);
	assert_int_equal(layout.alternates[2].refusal, GIT_FORBIDDEN_PLACE);
	assert_string_equal(layout.alternates[3].objects, at("deep.git/objects"));
}

static void many(void **state)
{
	char name[32], tree[32];

	for (int i = 0; i < GIT_LAYOUT_FOLDERS + 3; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		snprintf(tree, sizeof(tree), "trees/w%d", i);
		worktree(name, tree);
	}
	find("trees/w7");
	assert_int_equal(layout.refusal, GIT_ACCEPTED);
	assert_int_equal(layout.worktrees.count, GIT_LAYOUT_FOLDERS);
	assert_true(layout.worktrees.more);
}

static void identities(void **state)
{
	const struct git_identity a = { 1, 2, 3 }, remounted = { 9, 2, 3 }, other = { 1, 2, 4 };
	const struct git_identity old = { 1, 2, 0 }, old_remounted = { 9, 2, 0 };

	assert_true(git_identity_is_same(&a, &a));
	assert_true(git_identity_is_same(&a, &remounted));
	assert_false(git_identity_is_same(&a, &other));
	assert_true(git_identity_is_same(&old, &old));
	assert_false(git_identity_is_same(&old, &old_remounted));
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(plain_repositories),
		TEST(worktrees),
		TEST(submodules),
		TEST(forged),
		TEST(links),
		TEST(owners),
		TEST(places),
		TEST(alternates),
		TEST(many),
		cmocka_unit_test(identities),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
