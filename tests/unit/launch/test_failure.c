/* A start that cannot be made as planned is no start: the step is named, and no process is left. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "tests/unit/launch/driver.h"

static const char *const argv[] = { "touch", "started", NULL };

/* The start must fail in that step; driver_done() waits for every process there is. */
static void refuse(struct driver *d, const char *step, enum error_code code, int err, const char *message)
{
	struct stat st;
	char path[128];

	driver_start(d);
	assert_int_equal(driver_report(d), 1);
	if (strcmp(d->error.step, step) != 0 || !strstr(d->error.message, message))
		fprintf(stderr, "%s: %s\n", d->error.step, d->error.message);
	assert_string_equal(d->error.step, step);
	assert_int_equal(d->error.code, code);
	assert_int_equal(d->error.err, err);
	assert_non_null(strstr(d->error.message, message));
	snprintf(path, sizeof(path), "%s/started", d->project);
	assert_int_equal(stat(path, &st), -1);
	driver_done(d);
}

static void sources_are_opened_as_the_caller(void **state)
{
	struct driver d;
	char secret[128], inside[160];

	driver_init(&d, argv);
	snprintf(secret, sizeof(secret), "%s/secret", d.scratch);
	snprintf(inside, sizeof(inside), "%s/file", secret);
	assert_int_equal(mkdir(secret, 0700), 0);
	fd_close(open(inside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, inside, "/secret");
	refuse(&d, "open sources", ERROR_INVALID, EACCES, "with the rights of uid 12345: Permission denied");
}

static void absent_sources_are_named(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, "/nowhere/at/all", "/x");
	refuse(&d, "open sources", ERROR_INVALID, ENOENT, "/nowhere/at/all cannot be opened");
}

static void links_are_not_followed(void **state)
{
	struct driver d;
	char link[128];

	driver_init(&d, argv);
	snprintf(link, sizeof(link), "%s/link", d.project);
	assert_int_equal(symlink("/usr", link), 0);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, link, "/x");
	refuse(&d, "open sources", ERROR_INVALID, ELOOP, "Too many levels of symbolic links");
}

/* Magic links of /proc would lead around every rule of the plan. */
static void magic_links_are_not_followed(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_FOLLOW, "/proc/self/cwd", "/x");
	refuse(&d, "open sources", ERROR_INVALID, ELOOP, "cannot be opened");
}

static void kernel_file_systems_are_not_lent(void **state)
{
	static const char *const sources[] = { "/proc", "/proc/sys", "/sys", "/dev/pts", "/sys/fs/cgroup" };

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct driver d;
		struct stat st;

		if (stat(sources[i], &st) < 0)
			continue;
		/* On this machine /sys/fs/cgroup may be a tmpfs with the controllers below it. */
		if (strcmp(sources[i], "/sys/fs/cgroup") == 0 && access("/sys/fs/cgroup/cgroup.procs", F_OK) < 0)
			continue;
		driver_init(&d, argv);
		driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, sources[i], "/x");
		refuse(&d, "open sources", ERROR_REFUSED, EPERM, "file system of the kernel");
	}
}

static void devices_are_not_lent(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, "/dev/zero", "/x");
	refuse(&d, "open sources", ERROR_REFUSED, EPERM, "neither a file nor a folder");
}

static void nothing_is_made_on_the_host(void **state)
{
	struct driver d;
	struct stat st;
	char target[128];

	driver_init(&d, argv);
	snprintf(target, sizeof(target), "%s/new/folder", d.project);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, "/usr", target);
	refuse(&d, "view mounts", ERROR_SANDBOX_UNAVAILABLE, ENOENT, "its folder is one of the host");
	assert_int_equal(stat(target, &st), -1);
}

static void made_things_stay_in_own_folders(void **state)
{
	static const uint32_t types[] = { PLAN_MAKE_LINK, PLAN_MAKE_DIR };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		struct driver d;
		char target[128];

		driver_init(&d, argv);
		snprintf(target, sizeof(target), "%s%s", d.project, i == 0 ? "/link" : "");
		driver_mount(&d, types[i], 0, i == 0 ? "/usr" : NULL, target);
		refuse(&d, "view mounts", ERROR_SANDBOX_UNAVAILABLE, EROFS, "of the host");
	}
}

static void targets_cross_no_link(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, "/usr", "/bin/x");
	refuse(&d, "view mounts", ERROR_SANDBOX_UNAVAILABLE, ELOOP, "/bin/x cannot be reached");
}

static void a_file_does_not_cover_a_folder(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	driver_mount(&d, PLAN_MOUNT_BIND, 0, "/etc/passwd", "/tmp");
	refuse(&d, "view mounts", ERROR_SANDBOX_UNAVAILABLE, EISDIR, "/tmp cannot be reached");
}

static void a_refused_ruleset_stops_the_start(void **state)
{
	/* The batch ends before it begins: NFNL_MSG_BATCH_END. */
	static const uint8_t rules[] = { 20, 0, 0, 0, 0x11, 0, 5, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10 };
	static const uint8_t cut[] = { 20, 0, 0, 0, 0x10, 0, 1, 0 };
	struct driver d;

	driver_init(&d, argv);
	d.ruleset = rules;
	d.ruleset_len = sizeof(rules);
	driver_start(&d);
	assert_int_equal(driver_report(&d), 1);
	assert_string_equal(d.error.step, "nft ruleset");
	assert_non_null(strstr(d.error.message, "refused the firewall rules"));
	assert_non_null(strstr(d.error.remedy, "nf_tables"));
	driver_done(&d);
	driver_init(&d, argv);
	d.ruleset = cut;
	d.ruleset_len = sizeof(cut);
	refuse(&d, "nft ruleset", ERROR_SANDBOX_UNAVAILABLE, EBADMSG, "message 0");
}

static void a_bad_filter_stops_the_start(void **state)
{
	static const uint8_t bad[8] = { 0xff, 0xff };
	struct driver d;

	driver_init(&d, argv);
	d.filter = bad;
	d.filter_len = sizeof(bad);
	refuse(&d, "seccomp filter", ERROR_SANDBOX_UNAVAILABLE, EINVAL, "cannot be loaded");
	driver_init(&d, argv);
	d.filter = bad;
	d.filter_len = 7;
	refuse(&d, "filters", ERROR_INTERNAL, EBADMSG, "wrong size");
}

static void the_caller_is_whom_the_context_names(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	d.plan.uid = 0;
	refuse(&d, "plan", ERROR_INTERNAL, EPERM, "The plan is for uid 0");
	driver_init(&d, argv);
	d.context.net_uid = DRIVER_UID;
	refuse(&d, "context", ERROR_INTERNAL, EINVAL, "neither root nor the caller");
	driver_init(&d, argv);
	d.context.net_gid = DRIVER_UID;
	refuse(&d, "context", ERROR_INTERNAL, EINVAL, "neither root nor the caller");
	driver_init(&d, argv);
	d.context.n_cgroups = 99;
	refuse(&d, "context", ERROR_INTERNAL, EBADMSG, "wrong size");
}

static void the_working_directory_must_be_inside(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	d.plan.cwd = "/root";
	refuse(&d, "working directory", ERROR_INVALID, ENOENT, "/root cannot be entered");
	driver_init(&d, argv);
	d.plan.cwd = "/etc/passwd";
	refuse(&d, "working directory", ERROR_INVALID, ENOTDIR, "cannot be entered");
}

static void commands_that_cannot_be_run(void **state)
{
	static const char *const none[] = { "no-such-command", NULL }, *const folder[] = { "/usr", NULL };
	struct driver d;

	driver_init(&d, none);
	refuse(&d, "exec", ERROR_NOT_FOUND, ENOENT, "in no folder of PATH");
	driver_init(&d, folder);
	refuse(&d, "exec", ERROR_CANNOT_EXECUTE, EACCES, "/usr cannot be executed");
}

/* A regular file as stdin could be opened for writing from inside. */
static void stdio_must_be_pipes(void **state)
{
	struct driver d;
	int file;

	driver_init(&d, argv);
	file = open("/var/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	d.stdin_fd = file;
	refuse(&d, "descriptors", ERROR_INTERNAL, EBADF, "descriptor 0 is no stdin");
	fd_close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_are_opened_as_the_caller),
		cmocka_unit_test(absent_sources_are_named),
		cmocka_unit_test(links_are_not_followed),
		cmocka_unit_test(magic_links_are_not_followed),
		cmocka_unit_test(kernel_file_systems_are_not_lent),
		cmocka_unit_test(devices_are_not_lent),
		cmocka_unit_test(nothing_is_made_on_the_host),
		cmocka_unit_test(made_things_stay_in_own_folders),
		cmocka_unit_test(targets_cross_no_link),
		cmocka_unit_test(a_file_does_not_cover_a_folder),
		cmocka_unit_test(a_refused_ruleset_stops_the_start),
		cmocka_unit_test(a_bad_filter_stops_the_start),
		cmocka_unit_test(the_caller_is_whom_the_context_names),
		cmocka_unit_test(the_working_directory_must_be_inside),
		cmocka_unit_test(commands_that_cannot_be_run),
		cmocka_unit_test(stdio_must_be_pipes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
