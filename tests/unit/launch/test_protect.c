/* What is covered and locked in the view: by the plan, and by the search for what patterns protect. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "tests/unit/launch/driver.h"

#define SHELL(text) ((const char *const[]){ "sh", "-ec", text, NULL })

#define RULES_MAX 16
struct rules {
	struct path_rule list[RULES_MAX];
	char patterns[RULES_MAX][256];
};

/* pattern: below the project where it does not begin with a slash. */
static void rule(struct driver *d, struct rules *rules, uint32_t effect, const char *pattern)
{
	uint32_t i = d->plan.n_rules++;

	assert_true(i < RULES_MAX);
	snprintf(rules->patterns[i], sizeof(rules->patterns[i]), "%s%s%s", pattern[0] == '/' ? "" : d->project,
		 pattern[0] && pattern[0] != '/' ? "/" : "", pattern);
	rules->list[i] = (struct path_rule){ .effect = effect, .pattern = rules->patterns[i] };
	d->plan.rules = rules->list;
}

static const char *in_project(const struct driver *d, const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", d->project, name);
	return path;
}

/* By the caller, in the project. */
static void host(const struct driver *d, const char *script)
{
	char command[2048];

	snprintf(command, sizeof(command), "cd %s && setpriv --reuid %d --regid %d --clear-groups sh -ec '%s'",
		 d->project, DRIVER_UID, DRIVER_UID, script);
	assert_int_equal(system(command), 0);
}

static struct plan_mount *grant(struct driver *d)
{
	struct plan_mount *m = &d->mounts[d->plan.n_mounts - 1];

	m->flags |= PLAN_GRANT;
	return m;
}

static void run(struct driver *d)
{
	struct link_message exit;

	driver_run(d, &exit);
	if (exit.kind != EXIT_KIND_CODE || exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 0);
	driver_done(d);
}

static void fails(struct driver *d, const char *text)
{
	driver_start(d);
	assert_int_equal(driver_report(d), 1);
	if (!strstr(d->error.message, text))
		fail_msg("%s: %s", d->error.step, d->error.message);
	driver_done(d);
}

/* EACCES or EROFS, never an empty place to write to. */
#define CLOSED(name)                                                                                                   \
	"! cat " name " 2>e; grep -q 'Permission denied' e; ! sh -c 'echo x > " name "' 2>e; "                         \
	"grep -q 'Permission denied\\|Read-only' e; "
#define CLOSED_FOLDER(name)                                                                                            \
	"! ls " name " 2>e; grep -q 'Permission denied' e; ! cat " name "/in 2>e; grep -q 'Permission denied' e; "     \
	"! touch " name "/new 2>e; grep -q 'Permission denied\\|Read-only' e; "
#define STAYS(name)                                                                                                    \
	"! mv " name " " name ".moved 2>e; grep -q busy e; ! rm -rf " name " 2>e; grep -q 'busy\\|Read-only' e; "

static void the_plan_covers(void **state)
{
	struct driver d;

	driver_init(&d, SHELL(CLOSED("secret") CLOSED_FOLDER("folder") STAYS("secret") STAYS(
				"folder") "! chmod 777 folder secret; cat open; test ! -e absent; touch absent"));
	host(&d, "echo s > secret; mkdir folder; echo s > folder/in; echo s > open");
	grant(&d);
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "absent"));
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "folder"));
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "secret"));
	run(&d);
}

/* uid 0 without capabilities is an ordinary user. */
static void covers_hold_against_uid_0(void **state)
{
	struct driver d;

	driver_init(&d, SHELL(CLOSED("secret") CLOSED_FOLDER("folder") "! chmod 777 secret 2>e; grep -q Read-only e"));
	host(&d, "echo s > secret; mkdir folder; echo s > folder/in");
	assert_int_equal(chown(d.project, 0, 0), 0);
	d.plan.uid = d.context.uid = d.context.gid = 0;
	grant(&d);
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "folder"));
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "secret"));
	run(&d);
}

static void what_the_plan_mounts_below_a_cover_is_reached(void **state)
{
	struct driver d;

	driver_init(&d,
		    SHELL("! ls folder 2>e; grep -q 'Permission denied' e; ! touch folder/x 2>/dev/null; "
			  "! cat folder/in 2>/dev/null; cat folder/a/b/shown; touch folder/a/b/new; ! ls folder/a/c"));
	host(&d, "mkdir -p folder/a/b folder/a/c; echo s > folder/in; echo s > folder/a/b/shown");
	grant(&d);
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "folder"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_GRANT, in_project(&d, "folder/a/b"), in_project(&d, "folder/a/b"));
	run(&d);
}

static void the_plan_locks(void **state)
{
	struct driver d;

	driver_init(
		&d,
		SHELL(STAYS(".git") STAYS(
			".git/hooks") "touch .git/index.lock; mv .git/index.lock .git/index; "
				      "! touch .git/hooks/x 2>e; grep -q Read-only e; ! rm .git/config 2>/dev/null; "
				      "! sh -c 'echo >> .git/config' 2>/dev/null; cat .git/config; mv open moved"));
	host(&d, "mkdir -p .git/hooks; echo c > .git/config; echo s > open");
	grant(&d);
	driver_mount(&d, PLAN_LOCK, 0, NULL, in_project(&d, ".git"));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, ".git/config"));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, ".git/hooks"));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, ".git/nothing"));
	run(&d);
}

/* Mounts of the host below a locked folder are as read-only as it is. */
static void a_lock_reaches_nested_mounts(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("! touch folder/inner/x 2>e; grep -q Read-only e; touch x"));
	host(&d, "mkdir -p folder/inner");
	assert_int_equal(mount("none", in_project(&d, "folder/inner"), "tmpfs", 0, "mode=777"), 0);
	grant(&d);
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "folder"));
	struct link_message exit;
	driver_run(&d, &exit);
	assert_int_equal(umount2(in_project(&d, "folder/inner"), MNT_DETACH), 0);
	driver_done(&d);
	assert_int_equal(exit.value, 0);
}

static void links_are_followed_into_grants_only(void **state)
{
	struct driver d;

	driver_init(&d,
		    SHELL(CLOSED("secret") CLOSED("real") CLOSED(
			    "far/real") "cat outside; ls hooks; "
					"! touch hooks/x 2>/dev/null; ! touch shared/x 2>/dev/null; ! mv hooks h 2>e; "
					"grep -q busy e; ! rm hooks 2>e; grep -q busy e; cat loop 2>/dev/null || true; "
					"ls /usr/bin/env"));
	host(&d, "echo s > real; ln -s real secret; ln -s /usr/bin/env outside; mkdir shared deep; ln -s shared hooks; "
		 "ln -s loop loop; ln -s nowhere dangling; echo s > deep/real; ln -s deep far");
	grant(&d);
	static const char *const covered[] = { "dangling", "far/real", "loop", "outside", "secret" };
	for (size_t i = 0; i < ARRAY_SIZE(covered); i++)
		driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, covered[i]));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "hooks"));
	run(&d);
}

static void patterns_are_searched_for(void **state)
{
	struct driver d;
	struct rules rules;
	/* What its owner has closed he can open again. */
	static const char script[] = "chmod 755 closed; " CLOSED(".env") CLOSED("a/b/.env") CLOSED("closed/.env") //
		CLOSED("link") CLOSED("target") CLOSED_FOLDER("a/private") CLOSED("a/hooks/.env") STAYS("a/hooks")
			STAYS("a/.git/hooks") "! touch a/hooks/x 2>/dev/null; cat a/hooks/h a/.env.example; "
					      "! touch a/.git/hooks/x 2>/dev/null; touch a/.git/HEAD a/new; "
					      "test $(stat -c %s a/.git/objects/.env) = 2; " STAYS("a/.git");

	driver_init(&d, SHELL(script));
	host(&d, "mkdir -p a/b a/private a/hooks a/.git/hooks a/.git/objects closed; "
		 "for f in .env a/b/.env a/.env.example a/private/in a/hooks/h a/hooks/.env a/.git/objects/.env "
		 "closed/.env target; do echo s > $f; done; ln -s ../target a/.env; mv a/.env link; "
		 "rm link; ln -s target link; ln -s nowhere a/gone.env; chmod 0 closed");
	grant(&d);
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_DENY_READ, "**/.env");
	rule(&d, &rules, PATH_DENY_READ, "**/private");
	rule(&d, &rules, PATH_DENY_READ, "**/link");
	rule(&d, &rules, PATH_DENY_WRITE, "a/*oks");
	rule(&d, &rules, PATH_DENY_WRITE, "**/.git/hooks");
	run(&d);
}

/* A folder of a pattern is covered, what the plan has mounted deeper in it stays where it is. */
static void deeper_grants_are_put_back(void **state)
{
	struct driver d;
	struct rules rules;

	driver_init(&d, SHELL("! ls x/private 2>/dev/null; ! cat x/private/in 2>/dev/null; cat x/private/pub/shown; "
			      "touch x/private/pub/new; ! cat x/private/pub/.env 2>/dev/null; "
			      "! touch ro/x 2>/dev/null; touch ro/rw/x; ! mv ro r 2>/dev/null"));
	host(&d, "mkdir -p x/private/pub ro/rw; echo s > x/private/in; echo s > x/private/pub/shown; "
		 "echo s > x/private/pub/.env");
	grant(&d);
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_GRANT, in_project(&d, "ro/rw"), in_project(&d, "ro/rw"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_GRANT, in_project(&d, "x/private/pub"), in_project(&d, "x/private/pub"));
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_ALLOW_WRITE, "ro/rw");
	rule(&d, &rules, PATH_ALLOW_WRITE, "x/private/pub");
	rule(&d, &rules, PATH_DENY_READ, "**/private");
	rule(&d, &rules, PATH_DENY_READ, "**/.env");
	rule(&d, &rules, PATH_DENY_WRITE, "r?");
	run(&d);
}

/* Root of a namespace of the program's own can take nothing off. */
static void nesting_uncovers_nothing(void **state)
{
	struct driver d;
	struct rules rules;

	driver_init(
		&d,
		SHELL("cat > try <<'E'\n"
		      "for f in .env folder hooks .; do ! umount $f 2>/dev/null || exit 1; "
		      "! umount -l $f 2>/dev/null || exit 2; done\n"
		      "! mount -o remount,bind,rw hooks 2>/dev/null || exit 3; ! touch hooks/x 2>/dev/null || exit 4\n"
		      "mkdir -p m; ! mount --bind . m 2>/dev/null || exit 5\n"
		      "mount --rbind . m; ! cat m/.env 2>/dev/null || exit 6; ! touch m/hooks/x 2>/dev/null || exit 7\n"
		      "! umount m/.env 2>/dev/null || exit 8; ! mv .git g 2>/dev/null || exit 9\n"
		      "! cat .env 2>/dev/null || exit 10; ! ls folder 2>/dev/null || exit 11\n"
		      "E\n"
		      "unshare -Urm sh -e ./try; unshare -Urmpf --mount-proc sh -e ./try"));
	host(&d, "mkdir -p folder hooks .git/hooks; echo s > .env");
	d.plan.flags |= PLAN_NESTING;
	grant(&d);
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "folder"));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "hooks"));
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_DENY_READ, "**/.env");
	rule(&d, &rules, PATH_DENY_WRITE, "**/.git/hooks");
	rule(&d, &rules, PATH_DENY_WRITE, "hooks");
	rule(&d, &rules, PATH_DENY_READ, "folder");
	run(&d);
}

/* So many files are made in memory: ext4 looks long for an inode where as many were removed just now. */
static int in_memory(void **state)
{
	return mount("tmpfs", "/var/tmp", "tmpfs", 0, "mode=1777,nr_inodes=0");
}

static int not_in_memory(void **state)
{
	return umount2("/var/tmp", MNT_DETACH);
}

/* Files of which each is covered: so many. With more a program could move what is left, so nothing starts; where it
 * cannot write, opens are refused by name, unless it may nest. */
static void there_is_a_bound(void **state)
{
	static const struct {
		uint32_t grant, plan;
		bool starts;
	} cases[] = {
		{ 0, 0, false },
		{ 0, PLAN_NESTING, false },
		{ PLAN_READ_ONLY, PLAN_NESTING, false },
		{ PLAN_READ_ONLY, 0, true },
		{ 0, PLAN_NESTING | PLAN_DEGRADED, true },
	};
	struct driver d;
	struct rules rules;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		driver_init(&d, SHELL("test $(find . -name '.env.*' -perm 0 | wc -l) = 16384"));
		host(&d, "for i in $(seq 17000); do echo s > .env.$i; done");
		grant(&d)->flags |= cases[i].grant;
		d.plan.flags |= cases[i].plan;
		rule(&d, &rules, cases[i].grant ? PATH_ALLOW_READ : PATH_ALLOW_WRITE, "");
		rule(&d, &rules, PATH_DENY_READ, "**/.env.*");
		if (cases[i].starts)
			run(&d);
		else
			fails(&d, "16384");
	}
	assert_int_equal(LIMIT_COVERS, 16384);
}

static void a_token_decides(void **state)
{
	struct driver d;
	struct rules rules;

	driver_init(&d, SHELL(CLOSED("a/.npmrc") "test $(stat -c %s .npmrc) = 11"));
	d.plan.flags |= PLAN_NESTING;
	host(&d, "mkdir a; echo registry=x > .npmrc; echo //r/:_authToken=0123456789abcdef0123 > a/.npmrc");
	grant(&d);
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_DENY_READ, "**/.npmrc");
	rules.list[1].flags = PATH_RULE_IF_TOKEN | PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY;
	run(&d);
}

/* What a rule is about is seen when it is looked at: a folder may have the name of a file with secrets. */
static void rules_mean_files_or_folders(void **state)
{
	struct driver d;
	struct rules rules;

	driver_init(&d,
		    SHELL(CLOSED("file") CLOSED("sub/.env") "touch folder/x .env/x; echo x >> settings/x; "
							    "! touch config 2>/dev/null; ! mv settings s 2>/dev/null"));
	host(&d, "mkdir folder .env sub settings; echo s > file; echo s > sub/.env; touch config");
	grant(&d);
	static const char *const names[] = { "file", "folder" };
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_DENY_READ, "**/.env");
	rules.list[1].flags = PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		rule(&d, &rules, PATH_DENY_READ, names[i]);
		rules.list[2 + i].flags = PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY;
		driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, names[i]));
	}
	rule(&d, &rules, PATH_DENY_WRITE, "config");
	rule(&d, &rules, PATH_DENY_WRITE, "settings");
	rules.list[5].flags = PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY;
	rule(&d, &rules, PATH_DENY_WRITE, "settings/nothing");
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "config"));
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "settings"));
	run(&d);
}

/* Nothing of all that is left on the host. */
static void the_host_looks_as_before(void **state)
{
	struct driver d;
	struct rules rules;
	char command[512];

	driver_init(&d, SHELL("! cat .env 2>/dev/null; ! ls folder 2>/dev/null"));
	host(&d, "mkdir -p folder/deep .git/hooks; echo s > .env");
	snprintf(command, sizeof(command),
		 "cd %s && find . -printf '%%p %%i %%m %%u %%T@ %%C@\\n' | sort > /tmp/isod-before", d.project);
	assert_int_equal(system(command), 0);
	grant(&d);
	driver_mount(&d, PLAN_COVER, 0, NULL, in_project(&d, "folder"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_GRANT, in_project(&d, "folder/deep"), in_project(&d, "folder/deep"));
	rule(&d, &rules, PATH_ALLOW_WRITE, "");
	rule(&d, &rules, PATH_DENY_READ, "**/.env");
	rule(&d, &rules, PATH_DENY_READ, "folder");
	rule(&d, &rules, PATH_ALLOW_WRITE, "folder/deep");
	rule(&d, &rules, PATH_DENY_WRITE, "**/.git/hooks");
	struct link_message exit;
	driver_run(&d, &exit);
	assert_int_equal(exit.value, 0);
	snprintf(command, sizeof(command),
		 "cd %s && find . -printf '%%p %%i %%m %%u %%T@ %%C@\\n' | sort | diff - /tmp/isod-before && rm "
		 "/tmp/isod-before",
		 d.project);
	assert_int_equal(system(command), 0);
	driver_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_plan_covers),
		cmocka_unit_test(covers_hold_against_uid_0),
		cmocka_unit_test(what_the_plan_mounts_below_a_cover_is_reached),
		cmocka_unit_test(the_plan_locks),
		cmocka_unit_test(a_lock_reaches_nested_mounts),
		cmocka_unit_test(links_are_followed_into_grants_only),
		cmocka_unit_test(patterns_are_searched_for),
		cmocka_unit_test(deeper_grants_are_put_back),
		cmocka_unit_test(nesting_uncovers_nothing),
		cmocka_unit_test_setup_teardown(there_is_a_bound, in_memory, not_in_memory),
		cmocka_unit_test(a_token_decides),
		cmocka_unit_test(rules_mean_files_or_folders),
		cmocka_unit_test(the_host_looks_as_before),
	};

	/* The mounts of these tests are not for the machine. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
