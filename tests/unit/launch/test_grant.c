/* Sources of the user's: layers over folders, devices, what patterns stand for, links of other users. */
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
#include <sys/sysmacros.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "daemon/wire/late.h"
#include "tests/unit/launch/driver.h"

#define SHELL(script) ((const char *const[]){ "sh", "-c", "set -e; export LC_ALL=C; " script, NULL })

static const char *in_project(const struct driver *d, const char *name)
{
	static char paths[16][256];
	static unsigned next;
	char *path = paths[next++ % 16];

	snprintf(path, sizeof(paths[0]), "%s%s%s", d->project, name[0] ? "/" : "", name);
	return path;
}

static void as_user(const char *folder, unsigned uid, const char *script)
{
	char command[2048];

	snprintf(command, sizeof(command), "cd %s && setpriv --reuid %u --regid %u --clear-groups sh -ec '%s'", folder,
		 uid, uid, script);
	assert_int_equal(system(command), 0);
}

static void host(const struct driver *d, const char *script)
{
	as_user(d->project, DRIVER_UID, script);
}

/* Without driver_done(): the test looks at what is left. */
static void start(struct driver *d)
{
	struct link_message exit;

	driver_run(d, &exit);
	if (exit.kind != EXIT_KIND_CODE || exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 0);
}

static void run(struct driver *d)
{
	start(d);
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

static struct plan_mount *overlay(struct driver *d, uint32_t flags)
{
	struct plan_mount *m = &d->mounts[d->plan.n_mounts - 1];

	m->type = PLAN_MOUNT_OVERLAY;
	m->flags |= PLAN_GRANT | flags;
	return m;
}

static void make_layer(struct driver *d)
{
	snprintf(d->layer, sizeof(d->layer), "/var/tmp/isod-test-layer-XXXXXX");
	assert_non_null(mkdtemp(d->layer));
}

static void remove_layer(struct driver *d)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", d->layer);
	assert_int_equal(system(command), 0);
}

/* What is written goes to the layer; the caller can read the layer's marks afterwards. */
static void a_layer_takes_what_is_written(void **state)
{
	struct driver d;
	char upper[128];
	struct stat st;

	driver_init(
		&d,
		SHELL("cat a; echo new > a; echo b > b; rm gone; rm -r old; mkdir old; touch old/x; chmod 700 mode; "
		      "mv dir/f dir/g; ln dir/g dir/h; ls; stat -f -c %T ."));
	host(&d, "echo first > a; echo x > gone; mkdir old dir mode; touch old/y dir/f");
	overlay(&d, PLAN_KEEP);
	make_layer(&d);
	start(&d);
	assert_non_null(strstr(d.text, "first\n"));
	assert_non_null(strstr(d.text, "overlayfs\n"));
	host(&d, "test $(cat a) = first; test -e gone -a -e old/y -a ! -e b -a ! -e old/x -a -e dir/f -a ! -e dir/g");
	snprintf(upper, sizeof(upper), "%s/upper", d.layer);
	assert_int_equal(chmod(d.layer, 0755), 0);
	as_user(upper, DRIVER_UID,
		"test $(cat a) = new -a $(cat b) = b -a -e old/x; "
		"test $(stat -c %t%T gone) = 00; python3 -c \"import os; os.getxattr(\\\"old\\\", "
		"\\\"user.overlay.opaque\\\")\"");
	assert_int_equal(stat(upper, &st), 0);
	assert_int_equal(st.st_uid, DRIVER_UID);
	assert_int_equal(st.st_mode & 07777, 0700);
	driver_done(&d);
	remove_layer(&d);
}

static void a_layer_may_end_with_the_session(void **state)
{
	struct driver d;

	driver_init(
		&d,
		SHELL("echo new > a; test $(cat a) = new; test -x bin/run; ! bin/set 2>/dev/null; ! cat secret 2>e; "
		      "grep -q 'Permission denied' e; ! sh -c 'echo x > secret' 2>/dev/null; ls inner"));
	host(&d, "echo first > a; mkdir bin; printf \"#!/bin/sh\\n\" > bin/run; chmod 755 bin/run; mkdir inner");
	/* Not the caller's: overlayfs acts with the caller's rights, and no more. */
	int fd = open(in_project(&d, "secret"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	fd_close(fd);
	overlay(&d, 0);
	start(&d);
	host(&d, "test $(cat a) = first");
	driver_done(&d);
}

static void covers_and_locks_lie_in_a_layer_too(void **state)
{
	struct driver d;
	char pattern[128];
	struct path_rule rules[] = { { .effect = PATH_OVERLAY, .pattern = d.project },
				     { .effect = PATH_DENY_READ, .pattern = pattern } };

	driver_init(&d, SHELL("! cat .env 2>e; grep -q 'Permission denied' e; ! touch hooks/x 2>/dev/null; touch x; "
			      "! mv hooks h 2>/dev/null; ! rm .env 2>/dev/null"));
	host(&d, "echo s > .env; mkdir hooks");
	snprintf(pattern, sizeof(pattern), "%s/**/.env", d.project);
	overlay(&d, 0);
	d.plan.rules = rules;
	d.plan.n_rules = 2;
	driver_mount(&d, PLAN_LOCK, PLAN_READ_ONLY, NULL, in_project(&d, "hooks"));
	run(&d);
}

static void an_absent_optional_layer_is_skipped(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("test ! -e cache"));
	driver_mount(&d, PLAN_MOUNT_OVERLAY, PLAN_GRANT | PLAN_OPTIONAL, in_project(&d, "cache"),
		     in_project(&d, "cache"));
	run(&d);
}

static void a_layer_over_a_file_is_refused(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("true"));
	host(&d, "touch file");
	driver_mount(&d, PLAN_MOUNT_OVERLAY, PLAN_GRANT, in_project(&d, "file"), in_project(&d, "file"));
	fails(&d, "is no folder");
}

/* Less than was promised only where the administrator says so; never the host's folder to write to. */
static void a_folder_that_cannot_have_a_layer(void **state)
{
	struct driver d;

	for (int degraded = 0; degraded < 2; degraded++) {
		driver_init(
			&d,
			SHELL("test -e shown; ! touch x 2>e; grep -q Read-only /tmp/e || true; ! touch x 2>/dev/null"));
		host(&d, "touch shown");
		overlay(&d, PLAN_KEEP);
		/* Its place is taken. */
		make_layer(&d);
		char name[128];
		snprintf(name, sizeof(name), "%s/work", d.layer);
		assert_int_equal(mkdir(name, 0700), 0);
		if (degraded)
			d.plan.flags |= PLAN_DEGRADED;
		if (!degraded) {
			fails(&d, "A layer of the session over");
		} else {
			char told[128];

			start(&d);
			snprintf(told, sizeof(told), "LACKING %d 1 %s\n", LATE_LACK_LAYER, d.project);
			assert_string_equal(d.late, told);
			driver_done(&d);
		}
		remove_layer(&d);
	}
}

static void a_device_works(void **state)
{
	struct driver d;
	static const struct path_rule rules[] = { { .effect = PATH_ALLOW_WRITE, .pattern = "/dev/isod-test*" } };

	/* Stands for a graphics card: a character device that answers. */
	mknod("/dev/isod-test", S_IFCHR | 0666, makedev(1, 5));
	assert_int_equal(chmod("/dev/isod-test", 0666), 0);
	driver_init(&d, SHELL("head -c 4 /dev/isod-test | od -An -tx1; echo x > /dev/isod-test; ! chmod 600 "
			      "/dev/isod-test; stat -c %F /dev/isod-test; ! rm /dev/isod-test"));
	d.plan.rules = rules;
	d.plan.n_rules = 1;
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-test", "/dev/isod-test");
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-te*", "/dev/isod-te*");
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-absent*", "/dev/isod-absent*");
	start(&d);
	assert_non_null(strstr(d.text, " 00 00 00 00\n"));
	assert_non_null(strstr(d.text, "character special file\n"));
	driver_done(&d);
	unlink("/dev/isod-test");
}

/* Graphics cards are for members of "video" and "render"; two groups, so that their order is met, too. */
static void a_device_for_members_of_its_group(void **state)
{
	static const struct path_rule rules[] = { { .effect = PATH_ALLOW_WRITE, .pattern = "/dev/isod-test*" } };
	static const struct {
		unsigned group; /* of the device; the caller is in DRIVER_UID + 9 and the project's is that */
		const char *script;
	} cases[] = {
		{ DRIVER_UID + 9, "head -c1 /dev/isod-test-card >/dev/null; test \"$(id -G)\" = '12345 12354'" },
		{ DRIVER_UID + 10, "! head -c1 /dev/isod-test-card 2>/dev/null; test \"$(id -G)\" = 12345" },
		{ DRIVER_NET_UID, "! head -c1 /dev/isod-test-card 2>/dev/null; test \"$(id -G)\" = 12345" },
	};

	mknod("/dev/isod-test-card", S_IFCHR | 0660, makedev(1, 5));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct driver d;

		assert_int_equal(chown("/dev/isod-test-card", 0, cases[i].group), 0);
		assert_int_equal(chmod("/dev/isod-test-card", 0660), 0);
		driver_init(&d, ((const char *const[]){ "sh", "-ec", cases[i].script, NULL }));
		d.context.n_groups = 1;
		d.group = cases[i].group == DRIVER_NET_UID ? DRIVER_NET_UID : DRIVER_UID + 9;
		d.plan.rules = rules;
		d.plan.n_rules = 1;
		driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-test-card", "/dev/isod-test-card");
		run(&d);
	}
	unlink("/dev/isod-test-card");
}

static void what_is_no_device_is_refused(void **state)
{
	struct driver d;
	char told[64];

	driver_init(&d, SHELL("true"));
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/shm", "/dev/shm");
	fails(&d, "is not a character device");
	driver_init(&d, SHELL("test ! -e /dev/isod-absent"));
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-absent", "/dev/isod-absent");
	d.plan.flags |= PLAN_DEGRADED;
	start(&d);
	snprintf(told, sizeof(told), "LACKING %d 1 /dev/isod-absent\n", LATE_LACK_DEVICE);
	assert_string_equal(d.late, told);
	driver_done(&d);
	mknod("/dev/isod-test-block", S_IFBLK | 0666, makedev(7, 200));
	driver_init(&d, SHELL("true"));
	driver_mount(&d, PLAN_MOUNT_DEVICE, 0, "/dev/isod-test-block", "/dev/isod-test-block");
	fails(&d, "is not a character device");
	unlink("/dev/isod-test-block");
}

/* One that the caller made himself, in his own folder, acts as nothing. */
static void devices_elsewhere_stay_dead(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("! head -c1 zero 2>e; grep -q 'Permission denied' e"));
	assert_int_equal(mknod(in_project(&d, "zero"), S_IFCHR | 0666, makedev(1, 5)), 0);
	run(&d);
}

static void patterns_stand_for_what_is_there(void **state)
{
	struct driver d;
	char folder[] = "/var/tmp/isod-test-many-XXXXXX", patterns[5][128];
	struct path_rule rules[] = { { .effect = PATH_ALLOW_READ, .pattern = patterns[0] },
				     { .effect = PATH_ALLOW_WRITE, .pattern = patterns[1] },
				     { .effect = PATH_DENY_READ, .pattern = patterns[2] },
				     { .effect = PATH_ALLOW_READ, .pattern = patterns[3] },
				     { .effect = PATH_DENY_READ, .pattern = patterns[4] } };
	char script[1024];

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chown(folder, DRIVER_UID, DRIVER_UID), 0);
	as_user(folder, DRIVER_UID,
		"mkdir -p a/src b/src c/src deep/1/2 closed/src; touch a/src/f b/src/f c/src/f a/other a/f.md "
		"b/g.md deep/1/2/x.md b/src/.env; ln -s /etc d; ln -s a/src e; chmod 0 closed; mkdir b/rw");
	snprintf(patterns[0], 128, "%s/*/src", folder);
	snprintf(patterns[1], 128, "%s/?/rw", folder);
	snprintf(patterns[2], 128, "%s/c/src", folder);
	snprintf(patterns[3], 128, "%s/**/*.md", folder);
	snprintf(patterns[4], 128, "%s/**/.env", folder);
	snprintf(script, sizeof(script),
		 "cd %s; find . | sort; set -e; ! touch a/src/x 2>/dev/null; touch b/rw/x; ! sh -c ': > a/f.md' "
		 "2>/dev/null; "
		 "! cat b/src/.env 2>/dev/null",
		 folder);
	driver_init(&d, ((const char *const[]){ "sh", "-c", script, NULL }));
	d.plan.rules = rules;
	d.plan.n_rules = 5;
	driver_mount(&d, PLAN_MOUNT_MATCHES, PLAN_GRANT | PLAN_OPTIONAL | PLAN_READ_ONLY, patterns[0], folder);
	driver_mount(&d, PLAN_MOUNT_MATCHES, PLAN_GRANT | PLAN_OPTIONAL, patterns[1], folder);
	driver_mount(&d, PLAN_MOUNT_MATCHES, PLAN_GRANT | PLAN_OPTIONAL | PLAN_READ_ONLY, patterns[3], folder);
	start(&d);
	assert_string_equal(d.text,
			    ".\n./a\n./a/f.md\n./a/src\n./a/src/f\n./b\n./b/g.md\n./b/rw\n./b/src\n./b/src/.env\n"
			    "./b/src/f\n./deep\n./deep/1\n./deep/1/2\n./deep/1/2/x.md\n");
	driver_done(&d);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	assert_int_equal(system(command), 0);
}

/* A grant is what its owner means: a link of another user could lead to anything of the caller's. */
static void links_of_other_users_grant_nothing(void **state)
{
	struct driver d;
	char folder[] = "/var/tmp/isod-test-other-XXXXXX", link[128], below[128];
	static const struct {
		unsigned owner;
		bool follow;
		const char *message; /* NULL: it works */
	} cases[] = {
		{ DRIVER_UID, true, NULL },
		{ 0, true, NULL },
		{ DRIVER_UID + 7, true, "which belongs to uid" },
		{ DRIVER_UID, false, NULL },
		{ DRIVER_UID + 7, false, "which belongs to uid" },
	};

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0777), 0);
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(below, sizeof(below), "%s/link/secret", folder);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		driver_init(&d, SHELL("cat /granted/inner"));
		host(&d, "mkdir -p home/secret; echo s > home/secret/inner");
		assert_int_equal(symlink(in_project(&d, "home"), link), 0);
		assert_int_equal(lchown(link, cases[i].owner, cases[i].owner), 0);
		driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY | PLAN_GRANT | (cases[i].follow ? PLAN_FOLLOW : 0),
			     below, "/granted");
		if (cases[i].message)
			fails(&d, cases[i].message);
		else
			run(&d);
		assert_int_equal(unlink(link), 0);
	}
	assert_int_equal(rmdir(folder), 0);
}

static void links_of_procfs_grant_nothing(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("true"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY | PLAN_FOLLOW, "/proc/self/root/etc", "/granted");
	fails(&d, "cannot be opened with the rights");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_layer_takes_what_is_written),
		cmocka_unit_test(a_layer_may_end_with_the_session),
		cmocka_unit_test(covers_and_locks_lie_in_a_layer_too),
		cmocka_unit_test(an_absent_optional_layer_is_skipped),
		cmocka_unit_test(a_layer_over_a_file_is_refused),
		cmocka_unit_test(a_folder_that_cannot_have_a_layer),
		cmocka_unit_test(a_device_works),
		cmocka_unit_test(a_device_for_members_of_its_group),
		cmocka_unit_test(what_is_no_device_is_refused),
		cmocka_unit_test(devices_elsewhere_stay_dead),
		cmocka_unit_test(patterns_stand_for_what_is_there),
		cmocka_unit_test(links_of_other_users_grant_nothing),
		cmocka_unit_test(links_of_procfs_grant_nothing),
	};

	/* The mounts of these tests are not for the machine; nor are the devices. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
