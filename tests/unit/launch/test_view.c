/* What a program finds inside: files, ids, network. */
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

#define SHELL(script) ((const char *const[]){ "sh", "-c", script, NULL })

/* Runs the script; it must exit with 0. What it wrote is in d->text. */
static void run(struct driver *d)
{
	struct link_message exit;

	driver_run(d, &exit);
	if (exit.kind != EXIT_KIND_CODE || exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 0);
}

static void ids_and_names(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("id -u; id -g; id -G; hostname; pwd; umask; echo $HOME; ulimit -c; ulimit -n"));
	d.plan.umask = 027;
	run(&d);
	assert_non_null(strstr(d.text, "12345\n12345\n12345\nsandbox\n"));
	assert_non_null(strstr(d.text, d.project));
	assert_non_null(strstr(d.text, "\n0027\n/home/u\n0\n1000\n"));
	driver_done(&d);
}

static void only_the_named_is_there(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("ls -A / | tr '\\n' ' '; ls -A /home /home/u /tmp /var /dev | tr '\\n' ' '"));
	run(&d);
	assert_string_equal(d.text, "bin dev etc home lib lib64 proc sbin sys tmp usr var "
				    "/dev: fd full null ptmx pts random shm stderr stdin stdout tty urandom zero  "
				    "/home: u  /home/u:  /tmp:  /var: tmp ");
	driver_done(&d);
}

static void writable_and_read_only(void **state)
{
	struct driver d;
	char path[128];
	struct stat st;

	driver_init(&d, SHELL("set -e; echo a > f; mkdir d e; mv f d/g; mv d/g e/; ln e/g d/h; rm -r d; "
			      "echo b > /tmp/x; echo c > $HOME/y; echo d > /var/tmp/z; echo e > /dev/shm/s; "
			      "echo f > /dev/null; echo name > /proc/self/comm; "
			      "for p in / /usr /etc /dev /proc /sys /bin; do ! touch $p/t 2>/dev/null; done; "
			      "! sh -c ': > /usr/bin/env' 2>/dev/null"));
	run(&d);
	/* Written to the host's folder, as the caller. */
	snprintf(path, sizeof(path), "%s/e/g", d.project);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, DRIVER_UID);
	driver_done(&d);
}

static void read_only_sources_stay_so(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("! touch t && ! mkdir u && ! rm keep && cat keep"));
	d.mounts[d.plan.n_mounts - 1].flags |= PLAN_READ_ONLY;
	char path[128];
	snprintf(path, sizeof(path), "%s/keep", d.project);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(fd_write_full(fd, "kept", 4), 0);
	fd_close(fd);
	run(&d);
	assert_non_null(strstr(d.text, "kept"));
	driver_done(&d);
}

/* A file of the project is covered, a folder is read-only, the rest stays writable. */
static void parts_of_the_project_are_closed(void **state)
{
	struct driver d;
	char env[128], git[128];

	driver_init(&d, SHELL("! cat .env && ! touch .git/x && touch y && ! mv .git .other"));
	snprintf(env, sizeof(env), "%s/.env", d.project);
	snprintf(git, sizeof(git), "%s/.git", d.project);
	fd_close(open(env, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_int_equal(mkdir(git, 0777), 0);
	assert_int_equal(chown(git, DRIVER_UID, DRIVER_UID), 0);
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "/dev/null", env);
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, git, git);
	run(&d);
	driver_done(&d);
}

static void tmpfs_has_its_owner_mode_and_size(void **state)
{
	struct driver d;
	struct plan_mount *m;

	driver_init(&d, SHELL("stat -c '%a %u' /run/user/12345 /run /ro; touch /run/user/12345/x; ! touch /ro/x; "
			      "df --output=size -k /run/user/12345 | tail -1; ls /ro"));
	m = driver_mount(&d, PLAN_MOUNT_TMPFS, PLAN_OWNED, NULL, "/run/user/12345");
	m->mode = 0700;
	m->size = 1 << 20;
	driver_mount(&d, PLAN_MOUNT_TMPFS, PLAN_READ_ONLY, NULL, "/ro");
	/* Made in the read-only one before it is read-only. */
	driver_mount(&d, PLAN_MAKE_DIR, 0, NULL, "/ro/inside");
	run(&d);
	assert_non_null(strstr(d.text, "700 12345\n755 0\n755 0\n"));
	assert_non_null(strstr(d.text, " 1024\ninside\n"));
	driver_done(&d);
}

/* Folders between HOME and a mount in it belong to the caller: agents write beside it. */
static void mount_points_in_home_are_the_callers(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("stat -c %u ~/.config ~/.config/git; touch ~/.config/x"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "/usr/share", "/home/u/.config/git/share");
	run(&d);
	assert_non_null(strstr(d.text, "12345\n12345\n"));
	driver_done(&d);
}

static void optional_sources_may_be_absent(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("! ls /absent"));
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_OPTIONAL, "/nowhere/at/all", "/absent");
	run(&d);
	driver_done(&d);
}

static void links_are_followed_where_the_plan_says_so(void **state)
{
	struct driver d;
	char link[128];

	driver_init(&d, SHELL("ls /linked/bin/sh"));
	snprintf(link, sizeof(link), "%s/link", d.project);
	assert_int_equal(symlink("/usr", link), 0);
	driver_mount(&d, PLAN_MOUNT_BIND, PLAN_READ_ONLY | PLAN_FOLLOW, link, "/linked");
	run(&d);
	driver_done(&d);
}

static void the_project_group_is_kept(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("id -G"));
	d.group = 54321;
	d.context.n_groups = 1;
	run(&d);
	assert_string_equal(d.text, "12345\n");
	driver_done(&d);
	driver_init(&d, SHELL("id -G"));
	d.group = 54321;
	d.context.n_groups = 1;
	assert_int_equal(chown(d.project, DRIVER_UID, 54321), 0);
	run(&d);
	assert_string_equal(d.text, "12345 54321\n");
	driver_done(&d);
}

static void only_lo_and_every_address_is_local(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '; "
			      "cat /proc/sys/net/ipv4/ip_unprivileged_port_start; "
			      "python3 -c 'import socket\n"
			      "for f, a in ((2, \"198.18.5.5\"), (10, \"::1\"), (2, \"127.0.0.1\")):\n"
			      " s = socket.socket(f); s.bind((a, 80)); s.listen()\n"
			      " c = socket.create_connection((a, 80)); print(c.getpeername()[0])'"));
	run(&d);
	assert_string_equal(d.text, "lo\n0\n198.18.5.5\n::1\n127.0.0.1\n");
	driver_done(&d);
}

static void the_listeners_are_in_that_namespace(void **state)
{
	struct driver d;
	struct link_message exit;

	driver_init(&d, SHELL("sed 1d /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A '; "
			      "sed 1d /proc/net/udp /proc/net/udp6 | wc -l"));
	driver_run(&d, &exit);
	/* Six TCP ones; /proc/net/udp has two. sed counts its files as one, hence the second head line. */
	assert_int_equal(strncmp(d.text, "6\n", 2), 0);
	for (size_t i = 0; i < LISTENER_COUNT; i++)
		assert_true(d.listeners[i] >= 0);
	driver_done(&d);
}

/* A chroot in the project with a proc of the host: seen from inside, /proc/PID/root would lead out. */
static void foreign_file_systems_are_covered(void **state)
{
	struct driver d;
	char path[128];

	driver_init(&d, SHELL("ls -A chroot/proc; ! ls chroot/proc/1 2>/dev/null; ls /proc/$$/status"));
	snprintf(path, sizeof(path), "%s/chroot", d.project);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/chroot/proc", d.project);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(mount("proc", path, "proc", 0, NULL), 0);
	run(&d);
	assert_null(strstr(d.text, "cpuinfo"));
	assert_int_equal(umount2(path, MNT_DETACH), 0);
	driver_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_and_names),
		cmocka_unit_test(only_the_named_is_there),
		cmocka_unit_test(writable_and_read_only),
		cmocka_unit_test(read_only_sources_stay_so),
		cmocka_unit_test(parts_of_the_project_are_closed),
		cmocka_unit_test(tmpfs_has_its_owner_mode_and_size),
		cmocka_unit_test(mount_points_in_home_are_the_callers),
		cmocka_unit_test(optional_sources_may_be_absent),
		cmocka_unit_test(links_are_followed_where_the_plan_says_so),
		cmocka_unit_test(the_project_group_is_kept),
		cmocka_unit_test(only_lo_and_every_address_is_local),
		cmocka_unit_test(the_listeners_are_in_that_namespace),
		cmocka_unit_test(foreign_file_systems_are_covered),
	};

	/* The mounts of these tests are not for the machine. */
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
