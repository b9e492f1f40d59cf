/* The list of trusted repositories and policies, and the policy text that is made for git. */
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
#include "client/run/run_git_rules.h"
#include "client/policy/trust.h"

static char root[64], file[PATH_MAX];
static const struct git_identity one = { 1, UINT64_MAX, -5 }, two = { 1, 2, 0 };

static int set_up(void **state)
{
	snprintf(root, sizeof(root), "/tmp/trust-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(file, sizeof(file), "%s/new/folders/trust.json", root);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command); // NOLINT(cert-env33-c)
}

static bool has(const char *path, const struct git_identity *identity, const char *work_tree)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(trust_read(file, &t, &e), 0);
	return trust_has(&t, path, identity, work_tree);
}

static void added_and_removed(void **state)
{
	struct error e = ERROR_INIT;
	struct stat st;

	assert_false(has("/a/.git", &one, NULL));
	assert_int_equal(trust_remove(file, "/a/.git", &e), 0);
	assert_int_equal(trust_add(file, "/a/.git", &one, NULL, &e), 0);
	assert_int_equal(trust_add(file, "/a/.git", &one, NULL, &e), 0);
	assert_int_equal(trust_add(file, "/\xff \"b", &two, "/tree\xfe", &e), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(has("/a/.git", &one, NULL));
	assert_false(has("/a/.git", &one, "/tree"));
	assert_false(has("/a/.git", &two, NULL));
	assert_false(has("/b/.git", &one, NULL));
	assert_true(has("/\xff \"b", &two, "/tree\xfe"));
	assert_false(has("/\xff \"b", &two, "/other"));
	/* said of one work tree: not of all */
	assert_false(has("/\xff \"b", &two, NULL));
	assert_int_equal(trust_remove(file, "/a/.git", &e), 1);
	assert_false(has("/a/.git", &one, NULL));
	assert_true(has("/\xff \"b", &two, "/tree\xfe"));
}

static void another_folder_replaces(void **state)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(trust_add(file, "/a", &one, NULL, &e), 0);
	assert_int_equal(trust_add(file, "/a", &one, "/tree", &e), 0);
	assert_int_equal(trust_read(file, &t, &e), 0);
	assert_int_equal(t.count, 2);
	trust_done(&t);
	assert_int_equal(trust_add(file, "/a", &two, NULL, &e), 0);
	assert_int_equal(trust_read(file, &t, &e), 0);
	assert_int_equal(t.count, 1);
	assert_true(trust_has(&t, "/a", &two, NULL));
}

static void put(const char *text, mode_t mode)
{
	FILE *f;

	assert_int_equal(chdir(root), 0);
	(void)mkdir("new", 0755);
	(void)mkdir("new/folders", 0755);
	f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(file, mode), 0);
}

static void bad_files(void **state)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[]",
		"{\"version\":2,\"repositories\":[]}",
		"{\"version\":1,\"repositories\":{}}",
		"{\"version\":1,\"repositories\":[{\"path\":\"/a\"}]}",
		"{\"version\":1,\"repositories\":[{\"path\":1,\"device\":1,\"inode\":1,\"born\":0}]}",
		"{\"version\":1,\"repositories\":[{\"path\":\"/a\",\"device\":1,\"inode\":\"1\",\"born\":0}]}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_trust_ struct trust t = TRUST_INIT;
		struct error e = ERROR_INIT;

		put(texts[i], 0600);
		if (trust_read(file, &t, &e) >= 0 || t.count != 0 || !e.message[0])
			fail_msg("%s", texts[i]);
		/* and is not overwritten */
		assert_true(trust_add(file, "/a", &one, NULL, &e) < 0);
	}
	for (size_t i = 0; i < 2; i++) {
		_cleanup_trust_ struct trust t = TRUST_INIT;
		struct error e = ERROR_INIT;

		put("{\"version\":1,\"repositories\":[]}", i ? 0602 : 0620);
		assert_true(trust_read(file, &t, &e) < 0);
		assert_int_equal(e.code, ERROR_REFUSED);
	}
}

static const char *written(const struct run_git_rules *r)
{
	static char text[8192];
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(sizeof(text));

	assert_int_equal(run_git_rules_write(r, &out), 1);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
	return text;
}

static void policy_text(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64);
	struct run_git_rules r;

	run_git_rules_init(&r);
	assert_int_equal(run_git_rules_write(&r, &out), 0);
	run_git_rules_note(&r, "%s", "said");
	assert_int_equal(run_git_rules_write(&r, &out), 0);
	run_git_rules_add(&r, RUN_GIT_READ, "/a *[b]?\\\xff");
	run_git_rules_add(&r, RUN_GIT_WRITE, "/w");
	run_git_rules_add(&r, RUN_GIT_WRITE, "/w");
	run_git_rules_add_below(&r, RUN_GIT_KEEP, "/w", "hooks");
	run_git_rules_set(&r, "user.name", "\"N\"");
	assert_string_equal(written(&r),
			    "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/a \\\\*\\\\[b]\\\\?\\\\\\\\\\udcff\"],"
			    "\"allowWrite\":[\"/w\"],\"denyWrite\":[\"/w/hooks\"]}},\"environment\":{\"set\":{"
			    "\"GIT_CONFIG_COUNT\":\"1\",\"GIT_CONFIG_KEY_0\":\"user.name\","
			    "\"GIT_CONFIG_VALUE_0\":\"\\\"N\\\"\"}}}");
	run_git_rules_done(&r);
}

static void bounded(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1U << 20);
	char path[2048];
	struct run_git_rules r;

	run_git_rules_init(&r);
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	for (int i = 0; i < 100; i++) {
		path[1] = (char)('A' + i % 26);
		path[2] = (char)('A' + i / 26);
		run_git_rules_add(&r, RUN_GIT_KEEP, path);
	}
	assert_true(run_git_rules_write(&r, &out) < 0);
	run_git_rules_done(&r);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

static bool has_policy(const char *digest)
{
	_cleanup_trust_ struct trust t = TRUST_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(trust_read(file, &t, &e), 0);
	return trust_has_policy(&t, digest);
}

/* By its bytes; its path is only a name, under which one content is trusted at a time. */
static void policies(void **state)
{
	char a[TRUST_DIGEST_SIZE], b[TRUST_DIGEST_SIZE];
	struct error e = ERROR_INIT;

	assert_int_equal(trust_digest("abc", 3, a), 0);
	assert_string_equal(a, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_int_equal(trust_digest("abd", 3, b), 0);
	assert_int_equal(trust_add(file, "/kept", &one, NULL, &e), 0);
	assert_int_equal(trust_remove_policy(file, a, "/p", &e), 0);
	assert_int_equal(trust_add_policy(file, a, "/p", &e), 0);
	assert_int_equal(trust_add_policy(file, a, "/p", &e), 0);
	assert_true(has_policy(a));
	assert_false(has_policy(b));
	assert_int_equal(trust_add_policy(file, b, "/p", &e), 0);
	assert_true(has_policy(b));
	assert_false(has_policy(a));
	assert_int_equal(trust_add_policy(file, a, "/q", &e), 0);
	assert_int_equal(trust_remove_policy(file, "", "/p", &e), 1);
	assert_false(has_policy(b));
	assert_true(has_policy(a));
	assert_int_equal(trust_remove_policy(file, a, "/elsewhere", &e), 1);
	assert_false(has_policy(a));
	assert_true(has("/kept", &one, NULL));
	assert_int_equal(trust_remove(file, "/kept", &e), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(added_and_removed), TEST(another_folder_replaces), TEST(bad_files),
		TEST(policies),          cmocka_unit_test(policy_text), cmocka_unit_test(bounded)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
