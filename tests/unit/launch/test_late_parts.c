/* The parts of the guard of late files that need no session. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/linux/watch/launch_late_folder.h"
#include "daemon/linux/watch/launch_late_mounts.h"
#include "daemon/linux/watch/launch_late_report.h"
#include "daemon/linux/watch/launch_late_secret.h"
#include "daemon/linux/watch/launch_late_task.h"
#include "daemon/linux/view/launch_target.h"
#include "daemon/linux/watch/launch_watch_runs.h"
#include "daemon/wire/link_wire.h"
#include "view/protect.h"

static bool writes(long number, unsigned long first, unsigned long second, unsigned long third)
{
	char text[256];

	snprintf(text, sizeof(text), "%ld 0x%lx 0x%lx 0x%lx 0x0 0x0 0x0 0x7ffc0 0x7f00\n", number, first, second,
		 third);
	return launch_late_task_writes(text);
}

static void only_a_plain_open_for_writing_writes(void **state)
{
	assert_true(writes(SYS_openat, 0xffffff9c, 0x7ffe, O_WRONLY));
	assert_true(writes(SYS_openat, 0xffffff9c, 0x7ffe, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC));
	assert_false(writes(SYS_openat, 0xffffff9c, 0x7ffe, O_RDONLY));
	assert_false(writes(SYS_openat, 0xffffff9c, 0x7ffe, O_RDWR | O_CREAT | O_EXCL));
	assert_false(writes(SYS_openat, 0xffffff9c, O_WRONLY, O_RDONLY));
	/* Flags in memory, other calls, other states of a thread. */
	assert_false(writes(SYS_openat2, 0xffffff9c, 0x7ffe, O_WRONLY));
	assert_false(writes(SYS_execve, 1, 1, 1));
	assert_false(launch_late_task_writes("running\n"));
	assert_false(launch_late_task_writes("-1 0x7ffc 0x7ffe\n"));
	assert_false(launch_late_task_writes(""));
	assert_false(launch_late_task_writes("257"));
	assert_false(launch_late_task_writes("257 0x1 0x2"));
#ifdef SYS_open
	assert_true(writes(SYS_open, 0x7ffe, O_WRONLY, 0));
	assert_false(writes(SYS_open, 0x7ffe, O_RDONLY, O_WRONLY));
	assert_true(writes(SYS_creat, 0x7ffe, 0644, 0));
#endif
	assert_false(launch_late_task_only_writes(0));
	assert_false(launch_late_task_only_writes(getpid()));
	assert_int_equal(launch_late_task_process(getpid()), getpid());
}

static bool concerns(const char *pattern, const char *folder)
{
	struct path_rule rules[] = { { PATH_ALLOW_WRITE, 0, 0, "/" }, { PATH_DENY_READ, 0, 0, pattern } };
	struct plan plan = { .rules = rules, .n_rules = 2 };

	return launch_late_mounts_concern(&plan, folder);
}

static void mounts_are_marked_where_a_rule_may_hold(void **state)
{
	assert_true(concerns("/**/.env", "/home/u/p"));
	assert_true(concerns("/home/u/p/secret", "/home/u/p"));
	assert_true(concerns("/home/u/p", "/home/u/p/sub"));
	assert_true(concerns("/home/*/p/x", "/home/u/p"));
	assert_true(concerns("/home/u/**/x", "/home/u/p"));
	assert_true(concerns("/a", "/"));
	assert_false(concerns("/home/u/q/secret", "/home/u/p"));
	assert_false(concerns("/home/v/**/x", "/home/u/p"));
	assert_false(concerns("/home/u/pp", "/home/u/p"));
}

static void granted_is_what_lies_below_a_grant(void **state)
{
	const struct plan_mount mounts[] = {
		{ .type = PLAN_MOUNT_BIND, .flags = PLAN_READ_ONLY, .target = "/usr" },
		{ .type = PLAN_MOUNT_BIND, .flags = PLAN_GRANT, .target = "/home/u/p" },
		{ .type = PLAN_COVER, .target = "/home/u/p/secret" },
		{ .type = PLAN_MOUNT_TMPFS, .target = "/home/u/p/tmp" },
		{ .type = PLAN_MOUNT_MATCHES, .flags = PLAN_GRANT, .source = "/srv/*/data", .target = "/srv" },
	};
	struct launch_tree trees[] = { { .attached = true },
				       { .attached = true },
				       { .attached = true },
				       { .attached = true },
				       { .attached = true } };
	struct launch_match match = { .path = (char *)"/srv/a/data", .mount = 4, .tree = { .attached = true } };
	struct launch l = LAUNCH_INIT;

	l.plan = (struct plan){ .mounts = mounts, .n_mounts = ARRAY_SIZE(mounts) };
	l.trees = trees;
	l.matches = &match;
	l.n_matches = 1;
	assert_int_equal(launch_target_index(&l), 0);
	assert_true(launch_target_is_granted(&l, "/home/u/p"));
	assert_true(launch_target_is_granted(&l, "/home/u/p/.git"));
	assert_true(launch_target_is_granted(&l, "/home/u/p/secret"));
	assert_true(launch_target_is_granted(&l, "/srv/a/data"));
	assert_false(launch_target_is_granted(&l, "/home/u/p/tmp"));
	assert_false(launch_target_is_granted(&l, "/home/u/pp"));
	assert_false(launch_target_is_granted(&l, "/usr"));
	assert_false(launch_target_is_granted(&l, "/srv/a"));
	free(l.targets);
}

/* Hundreds of folders, so that they push each other out; a grant in a folder that is none, and the other way round; a
 * file that is mounted by itself. */
static void what_is_remembered_of_folders_is_right(void **state)
{
	const struct path_rule rules[] = {
		{ PATH_ALLOW_WRITE, 0, 0, "/g" },
		{ PATH_ALLOW_READ, 0, 0, "/h/one" },
		{ PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, 0, "/**/.env" },
		{ PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_IF_TOKEN, 0, "/**/*.key" },
		{ PATH_EXEMPT, PATH_RULE_BUILT_IN, 0, "/**/node_modules/**/*" },
		{ PATH_DENY_READ, 0, 0, "/g/7/secret" },
		{ PATH_ALLOW_READ, 0, 0, "/g/8/.env" },
	};
	const struct plan_mount mounts[] = {
		{ .type = PLAN_MOUNT_BIND, .flags = PLAN_GRANT, .target = "/g" },
		{ .type = PLAN_MOUNT_BIND, .flags = PLAN_GRANT, .target = "/h/one" },
		{ .type = PLAN_MOUNT_TMPFS, .target = "/g/3" },
		{ .type = PLAN_MOUNT_BIND, .target = "/g/4/two" },
	};
	static const char *const names[] = { ".env", "a.key",  "plain",   "one", "two", "node_modules/.env",
					     "sub",  "secret", "sub/.env" };
	struct launch_tree trees[] = {
		{ .attached = true }, { .attached = true }, { .attached = true }, { .attached = true }
	};
	static const char *const tops[] = { "", "/g", "/h" };
	static struct launch_late_folders folders;
	_cleanup_path_rules_ struct path_rules *compiled = NULL;
	struct launch l = LAUNCH_INIT;
	unsigned denied = 0, granted = 0, none = 0;

	l.plan = (struct plan){ .mounts = mounts, .n_mounts = ARRAY_SIZE(mounts) };
	l.trees = trees;
	assert_int_equal(launch_target_index(&l), 0);
	assert_int_equal(path_rules_new(rules, ARRAY_SIZE(rules), &compiled), 0);
	folders.launch = &l;
	folders.rules = compiled;
	for (unsigned i = 0; i < 40000; i++) {
		const char *top = tops[i % ARRAY_SIZE(tops)], *name = names[i / 7 % ARRAY_SIZE(names)];
		enum path_kind kind = i % 5 ? PATH_FILE : PATH_FILE_WITHOUT_TOKEN;
		struct path_verdict found, right;
		char path[LAUNCH_LATE_FOLDER_PATH + 64];
		bool is_granted;

		if (i % 11 == 0)
			snprintf(path, sizeof(path), "%s/%s", top, name);
		else if (i % 101 == 0)
			snprintf(path, sizeof(path), "%s/%0*u/%s", top, LAUNCH_LATE_FOLDER_PATH - 8 + (int)(i % 13), 7,
				 name);
		else
			snprintf(path, sizeof(path), "%s/%u/%s", top, i / 3 % 251, name);
		is_granted = launch_target_is_granted(&l, path);
		assert_true(launch_late_folder_decide(&folders, path, kind, &found) == is_granted);
		if (!is_granted) {
			none++;
			continue;
		}
		path_rules_decide(compiled, path, kind, &right);
		assert_int_equal(found.access, right.access);
		assert_int_equal(found.read_rule, right.read_rule);
		assert_int_equal(found.write_rule, right.write_rule);
		denied += right.access == PATH_DENIED;
		granted++;
	}
	assert_true(denied > 1000 && granted > 5000 && none > 5000);
	free(l.targets);
}

static struct launch_late_report report;

static int open_report(void)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	launch_late_report_init(&report, pair[0]);
	return pair[1];
}

/* The next event's kind, 0 where none waits. */
static uint32_t next(int peer, struct late_event *e)
{
	ssize_t n = recv(peer, e, sizeof(*e), MSG_DONTWAIT);

	if (n <= 0)
		return 0;
	assert_true(late_event_is_valid(e, (size_t)n));
	assert_int_equal(e->type, LINK_LATE);
	return e->kind;
}

static void each_path_is_told_once_a_kind(void **state)
{
	_cleanup_close_ int peer = open_report();
	struct late_event e;

	launch_late_report_path(&report, LATE_PLANTED, 3, -1, "/p/a\n");
	assert_int_equal(next(peer, &e), LATE_PLANTED);
	assert_int_equal(e.group, 3);
	assert_int_equal(e.path_len, 5);
	assert_memory_equal(e.path, "/p/a\n", 5);
	launch_late_report_path(&report, LATE_PLANTED, 3, -1, "/p/a\n");
	assert_int_equal(next(peer, &e), 0);
	launch_late_report_path(&report, LATE_REFUSED, 3, -1, "/p/a\n");
	assert_int_equal(next(peer, &e), LATE_REFUSED);
	launch_late_report_forget(&report, LATE_PLANTED, "/p/a\n");
	launch_late_report_path(&report, LATE_PLANTED, 3, -1, "/p/a\n");
	assert_int_equal(next(peer, &e), LATE_PLANTED);
	launch_late_report_know(&report, LATE_PLANTED, "/p/b");
	launch_late_report_path(&report, LATE_PLANTED, 3, -1, "/p/b");
	assert_int_equal(next(peer, &e), 0);
	close(report.link_fd);
}

/* Beyond what may come at once, and with a peer that does not read, the rest is a number; the sum is right. */
static void what_comes_too_fast_is_counted(void **state)
{
	_cleanup_close_ int peer = open_report();
	struct late_event e;
	uint64_t told = 0, counted = 0;

	for (int i = 0; i < 20000; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/p/%d", i);
		assert_int_equal(launch_late_report_path(&report, LATE_PLANTED, 1, -1, path), 0);
		if (i == 10000) /* the table of what was told is full: still no failure */
			assert_true(report.n_seen <= LATE_REPORT_SEEN / 4 * 3);
	}
	while (next(peer, &e))
		e.kind == LATE_MORE ? (counted += e.count) : told++;
	assert_in_range(told, 1, 2 * LATE_REPORT_BURST);
	assert_int_equal(launch_late_report_rest(&report, true), 0);
	while (next(peer, &e))
		counted += e.count;
	assert_int_equal(told + counted, 20000);
	close(report.link_fd);
}

static uint32_t told_after_floods(int peer, uint32_t kind, uint32_t group, const char *path)
{
	struct late_event e;
	uint32_t got;

	while (next(peer, &e))
		;
	assert_int_equal(launch_late_report_path(&report, kind, group, 1, path), 0);
	do
		got = next(peer, &e);
	while (got == LATE_MORE);
	return got;
}

/* What usually runs, what is refused, and plants of one kind have a room each. */
static void a_flood_hides_only_its_like(void **state)
{
	static const struct {
		uint32_t kind, group;
	} floods[] = { { LATE_RUNS, 0 }, { LATE_REFUSED, PROTECT_DOTENV }, { LATE_PLANTED, PROTECT_EDITOR_SETTINGS } };
	_cleanup_close_ int peer = open_report();

	for (int i = 0; i < 20000; i++) {
		char path[32];
		struct late_event e;

		snprintf(path, sizeof(path), "/p/%d/x", i);
		launch_late_report_path(&report, floods[i % 3].kind, floods[i % 3].group, -1, path);
		while (next(peer, &e))
			;
	}
	assert_int_equal(told_after_floods(peer, LATE_PLANTED, PROTECT_EDITOR_SETTINGS, "/p/y"), 0);
	assert_int_equal(told_after_floods(peer, LATE_PLANTED, PROTECT_DIRENV, "/p/.envrc"), LATE_PLANTED);
	assert_int_equal(told_after_floods(peer, LATE_UNPROTECTED, PROTECT_DIRENV, "/p/.envrc"), LATE_UNPROTECTED);
	close(report.link_fd);
}

static void a_broken_link_is_an_error(void **state)
{
	int peer = open_report();

	close(peer);
	assert_true(launch_late_report_path(&report, LATE_PLANTED, 1, -1, "/p/x") < 0);
	close(report.link_fd);
}

static void names_that_run(void **state)
{
	assert_true(launch_watch_runs("Makefile"));
	assert_true(launch_watch_runs("pyvenv.cfg"));
	assert_false(launch_watch_runs("main.c"));
	assert_false(launch_watch_runs(""));
}

/* What the session makes takes no room of what the host made. */
static void secrets_are_known_until_there_is_no_room(void **state)
{
	struct launch_late_secrets *s = launch_late_secret_new();

	assert_non_null(s);
	assert_false(launch_late_secret_has_any(s));
	assert_null(launch_late_secret_find(s, 7));
	launch_late_secret_add(s, 7, LAUNCH_LATE_SECRET_HOST, "/p/a.pem", false);
	launch_late_secret_add(s, 7, LAUNCH_LATE_SECRET_OWN, "/p/b.pem", false);
	assert_string_equal(launch_late_secret_find(s, 7), "/p/a.pem");
	launch_late_secret_add(s, 7, LAUNCH_LATE_SECRET_OWN, "/p/.env", true);
	launch_late_secret_add(s, 7, LAUNCH_LATE_SECRET_OWN, "/p/.env2", true);
	assert_string_equal(launch_late_secret_find(s, 7), "/p/.env");
	for (uint64_t i = 0; i < 2 * LAUNCH_LATE_SECRETS_OWN; i++)
		launch_late_secret_add(s, 1000 + i * 3, LAUNCH_LATE_SECRET_OWN, "/p/own", true);
	assert_string_equal(launch_late_secret_find(s, 7), "/p/.env");
	/* The older half has made room. */
	assert_null(launch_late_secret_find(s, 1000 + (LAUNCH_LATE_SECRETS_OWN - 1) * 3));
	assert_non_null(launch_late_secret_find(s, 1000 + LAUNCH_LATE_SECRETS_OWN * 3));
	assert_non_null(launch_late_secret_find(s, 1000 + (2 * LAUNCH_LATE_SECRETS_OWN - 1) * 3));
	for (uint64_t i = 0; i < LAUNCH_LATE_SECRETS_HOST; i++)
		launch_late_secret_add(s, (1ULL << 40) + i, LAUNCH_LATE_SECRET_HOST, "/p/host", true);
	assert_null(launch_late_secret_find(s, 7));
	assert_string_equal(launch_late_secret_find(s, 1ULL << 40), "/p/host");
	launch_late_secret_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_plain_open_for_writing_writes),
		cmocka_unit_test(mounts_are_marked_where_a_rule_may_hold),
		cmocka_unit_test(granted_is_what_lies_below_a_grant),
		cmocka_unit_test(what_is_remembered_of_folders_is_right),
		cmocka_unit_test(each_path_is_told_once_a_kind),
		cmocka_unit_test(what_comes_too_fast_is_counted),
		cmocka_unit_test(a_flood_hides_only_its_like),
		cmocka_unit_test(a_broken_link_is_an_error),
		cmocka_unit_test(names_that_run),
		cmocka_unit_test(secrets_are_known_until_there_is_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
