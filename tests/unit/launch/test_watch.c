/* pid 1's look at folders in which a protected path could appear, in a mount namespace of the test's own. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/watch/launch_late_report.h"
#include "daemon/linux/watch/launch_late_secret.h"
#include "daemon/linux/watch/launch_watch.h"
#include "daemon/linux/watch/launch_watch_event.h"
#include "daemon/wire/link_wire.h"
#include "view/path_rules.h"

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

static char folder[32];
static void make_folder(void)
{
	strcpy(folder, "/var/tmp/isod-test-watch-XXXXXX");
	assert_non_null(mkdtemp(folder));
}

static struct path_rule watched_rules[] = { { PATH_DENY_WRITE, 0, 0, "/**/.envrc" } };
static struct plan_mount watched_mount = { .type = PLAN_MOUNT_BIND, .flags = PLAN_GRANT, .target = folder };
static const struct plan watched_plan = {
	.mounts = &watched_mount, .n_mounts = 1, .rules = watched_rules, .n_rules = 1
};

/* As in pid 1 they live as long as the process. */
static struct launch_watch *watches[8];
static struct launch_late_secrets *secrets; /* of the last one */
static size_t n_watches;

static struct launch_watch *watch(int group)
{
	struct path_rules *rules;
	struct launch_watch **w = &watches[n_watches++];

	assert_true(n_watches <= ARRAY_SIZE(watches));
	assert_int_equal(path_rules_new(watched_rules, 1, &rules), 0);
	assert_non_null(secrets = launch_late_secret_new());
	assert_int_equal(launch_watch_new(group, &watched_plan, rules, &report, secrets, w), 0);
	return *w;
}

/* The host may make files for ever. */
static void the_end_comes_whatever_the_host_does(void **state)
{
	struct late_event e;
	int peer = open_report();
	/* A queue that is never empty. */
	struct launch_watch *w = watch(open("/dev/zero", O_RDONLY | O_CLOEXEC));

	alarm(120);
	launch_watch_end(w);
	alarm(0);
	assert_int_equal(next(peer, &e), LATE_LOST);
	fd_close(report.link_fd);
	fd_close(peer);
}

static void shell(const char *script)
{
	char command[512];

	snprintf(command, sizeof(command), "set -e; cd %s; %s", folder, script);
	assert_int_equal(system(command), 0);
}

/* Of a folder that is full of names, or of many, some are read in a turn, and it is said that there are more. */
static void full_folders_that_appear_do_not_hold_up(void **state)
{
	struct late_event e;
	int peer = open_report();
	struct launch_watch *w = watch(-1);
	uint32_t kind;

	make_folder();
	launch_watch_begin(w, true);
	shell("mkdir .a; (cd .a; seq 12000 | xargs touch); cp -r .a .b; touch .b/.envrc; mv .a a; mv .b b");
	alarm(120);
	while (launch_watch_serve(w) == 0 && !launch_watch_is_behind(w))
		;
	alarm(0);
	assert_true(launch_watch_is_behind(w));
	/* Where it is among the others says whether it was read. */
	do
		kind = next(peer, &e);
	while (kind == LATE_PLANTED);
	assert_int_equal(kind, LATE_LOST);
	shell("rm -r a b; rmdir $PWD");
	fd_close(report.link_fd);
	fd_close(peer);
}

/* Events were lost: what was there at the start is no news, what came since is. */
static void a_second_look_tells_only_what_is_new(void **state)
{
	struct late_event e;
	int peer = open_report();
	struct launch_watch *w = watch(open("/dev/zero", O_RDONLY | O_CLOEXEC));
	unsigned told = 0;

	make_folder();
	shell("mkdir a; touch .envrc a/.envrc Makefile");
	launch_watch_begin(w, true);
	shell("mkdir -p b; touch b/.envrc a/Makefile");
	/* Its queue never ends, which counts as lost. */
	launch_watch_end(w);
	for (uint32_t kind; (kind = next(peer, &e)) != 0;) {
		if (kind == LATE_LOST)
			continue;
		e.path[e.path_len] = '\0';
		assert_true(strcmp(e.path + strlen(folder), kind == LATE_PLANTED ? "/b/.envrc" : "/a/Makefile") == 0);
		told++;
	}
	assert_int_equal(told, 2);
	shell("rm -r a b .envrc Makefile; rmdir $PWD");
	fd_close(report.link_fd);
	fd_close(peer);
}

/* What was replaced while the session started has lost the mount that locked it; where the kernel's guard refuses, that
 * does not matter. */
static void a_lock_that_is_gone_is_told(void **state)
{
	struct late_event e;
	int peer;

	for (int refuses = 0; refuses < 2; refuses++) {
		peer = open_report();
		make_folder();
		shell("mkdir a b c; touch a/.envrc b/.envrc; mount --bind a/.envrc a/.envrc; ln -s none c/.envrc");
		launch_watch_begin(watch(launch_watch_event_group()), refuses);
		if (!refuses) {
			assert_int_equal(next(peer, &e), LATE_UNPROTECTED);
			e.path[e.path_len] = '\0';
			assert_string_equal(e.path + strlen(folder), "/b/.envrc");
			assert_int_equal(e.pid, 0);
		}
		assert_int_equal(next(peer, &e), 0);
		shell("umount a/.envrc; rm -r a b c; rmdir $PWD");
		fd_close(report.link_fd);
		fd_close(peer);
	}
}

/* One folder, shown by two grants: what is made in it is made under both paths. */
static void a_folder_with_two_paths(void **state)
{
	struct late_event e;
	int peer = open_report(), told = 0;
	struct launch_watch *w;

	make_folder();
	shell("mkdir a b; mount --bind a b");
	w = watch(launch_watch_event_group());
	launch_watch_begin(w, true);
	shell("touch a/.envrc");
	assert_int_equal(launch_watch_serve(w), 0);
	while (next(peer, &e) == LATE_PLANTED) {
		e.path[e.path_len] = '\0';
		told |= strcmp(e.path + strlen(folder), "/a/.envrc") == 0 ? 1 : 2;
	}
	assert_int_equal(told, 3);
	shell("umount b; rm -r a b; rmdir $PWD");
	fd_close(report.link_fd);
	fd_close(peer);
}

/* By events and by looks; whatever it is called now, and what was made under a secret name and is gone at once. */
static void what_is_secret_is_known_by_its_handle(void **state)
{
	int group = launch_watch_event_group(), peer = open_report();
	struct launch_watch *w;
	char path[128];
	uint64_t key;

	assert_true(group >= 0);
	watched_rules[0].effect = PATH_DENY_READ;
	w = watch(group);
	make_folder();
	shell("echo > early.pem; echo > .envrc");
	launch_watch_begin(w, true);
	shell("mv .envrc a; echo > b; mv b .envrc; mv .envrc c; echo > .envrc; ln .envrc d; rm .envrc; echo > e");
	assert_int_equal(launch_watch_catch_up(w), 0);
	for (const char *name = "acde"; *name; name++) {
		snprintf(path, sizeof(path), "%s/%c", folder, *name);
		assert_int_equal(launch_late_secret_key_of_path(path, &key), 0);
		assert_int_equal(launch_late_secret_find(secrets, key) != NULL, *name != 'e');
	}
	watched_rules[0].effect = PATH_DENY_WRITE;
	shell("rm -r *; rmdir $PWD");
	fd_close(report.link_fd);
	fd_close(peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_comes_whatever_the_host_does),
		cmocka_unit_test(full_folders_that_appear_do_not_hold_up),
		cmocka_unit_test(a_second_look_tells_only_what_is_new),
		cmocka_unit_test(a_lock_that_is_gone_is_told),
		cmocka_unit_test(a_folder_with_two_paths),
		cmocka_unit_test(what_is_secret_is_known_by_its_handle),
	};

	/* The mounts of these tests are not for the machine. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
