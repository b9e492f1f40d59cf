/* What the host has mounted in a granted folder, and who moves it: covered or guarded wherever it is, with the real
 * isod-launch. */
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "daemon/wire/late.h"
#include "tests/unit/launch/driver.h"

#define SHELL(script) ((const char *const[]){ "/bin/sh", "-c", script, NULL })
#define STARTS 40

static char denied[256];
static struct path_rule rules[] = {
	{ PATH_ALLOW_WRITE, 0, 0, NULL },
	{ PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, 0, "/**/.env" },
	{ PATH_DENY_WRITE, PATH_RULE_BUILT_IN, 0, "/**/.git/hooks" },
	{ PATH_DENY_READ, 0, 0, denied },
};

static const char *in_project(const struct driver *d, const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", d->project, name);
	return path;
}

static void init(struct driver *d, const char *const *argv)
{
	driver_init(d, argv);
	rules[0].pattern = d->project;
	snprintf(denied, sizeof(denied), "%s/denied", d->project);
	d->plan.rules = rules;
	d->plan.n_rules = sizeof(rules) / sizeof(rules[0]);
	driver_mount(d, PLAN_COVER, 0, NULL, denied);
	assert_int_equal(mkdir(in_project(d, "denied"), 0755), 0);
}

static void mount_at(const struct driver *d, const char *type, const char *name)
{
	const char *path = in_project(d, name);

	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mount(type, path, type, 0, NULL), 0);
}

static void unmount(const struct driver *d, const char *name)
{
	assert_int_equal(umount2(in_project(d, name), MNT_DETACH), 0);
}

/* Runs it; the guard of late files must be on. */
static void run(struct driver *d)
{
	struct link_message exit;

	driver_run(d, &exit);
	if (exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.value, 0);
	assert_non_null(strstr(d->late, "STATE 2 0\n"));
}

/* Nobody reaches it: neither the guard nor the cover of what is the kernel's has to. */
static void a_mount_below_what_is_denied(void **state)
{
	struct driver d;

	init(&d, SHELL("! ls denied 2>/dev/null"));
	mount_at(&d, "tmpfs", "denied/data");
	mount_at(&d, "proc", "denied/proc");
	run(&d);
	unmount(&d, "denied/data");
	unmount(&d, "denied/proc");
	driver_done(&d);
}

/* The remedy that the error names. */
static void a_file_of_the_kernel_that_is_denied(void **state)
{
	struct driver d;

	for (int is_denied = 1; is_denied >= 0; is_denied--) {
		init(&d, SHELL("! cat denied/ns 2>/dev/null"));
		fd_close(open(in_project(&d, "denied/ns"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
		assert_int_equal(mount("/proc/self/ns/uts", in_project(&d, "denied/ns"), NULL, MS_BIND, NULL), 0);
		if (is_denied) {
			run(&d);
		} else {
			d.plan.n_rules--;
			d.plan.n_mounts--;
			driver_start(&d);
			assert_int_equal(driver_report(&d), 1);
			assert_non_null(strstr(d.error.message, "is a mounted file of the kernel"));
		}
		unmount(&d, "denied/ns");
		driver_done(&d);
	}
}

static pid_t mover(const char *from, const char *to)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	while (pid == 0) {
		rename(from, to);
		rename(to, from);
	}
	return pid;
}

/* What is moved while a session starts is guarded and covered all the same, or the session does not start. */
static void a_moved_folder_keeps_its_guard(void **state)
{
	unsigned started = 0;

	for (unsigned i = 0; i < STARTS; i++) {
		struct link_message exit;
		struct driver d;
		pid_t pid;

		init(&d, SHELL("cat one/proc/1/comm two/proc/1/comm; true"));
		assert_int_equal(mkdir(in_project(&d, "one"), 0755), 0);
		assert_int_equal(mkdir(in_project(&d, "one/.git"), 0755), 0);
		assert_int_equal(mkdir(in_project(&d, "one/.git/hooks"), 0755), 0);
		mount_at(&d, "tmpfs", "one/data");
		mount_at(&d, "proc", "one/proc");
		pid = mover(in_project(&d, "one"), in_project(&d, "two"));
		driver_start(&d);
		if (driver_report(&d) == 0) {
			started++;
			driver_link(&d, LINK_EXITED, &exit);
			driver_output(&d);
			if (!strstr(d.late, "STATE 2 0\n"))
				fail_msg("start %u: %s", i, d.late);
			assert_null(strstr(d.text, "isod"));
			assert_null(strstr(d.text, "systemd"));
		} else {
			assert_non_null(strstr(d.error.message, "all the time"));
		}
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		rename(in_project(&d, "two"), in_project(&d, "one"));
		unmount(&d, "one/data");
		unmount(&d, "one/proc");
		driver_done(&d);
	}
	assert_true(started > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mount_below_what_is_denied),
		cmocka_unit_test(a_file_of_the_kernel_that_is_denied),
		cmocka_unit_test(a_moved_folder_keeps_its_guard),
	};

	/* The mounts of these tests are not for the machine. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
