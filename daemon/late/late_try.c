#include "daemon/late/late_try.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/late/late_compile.h"
#include "daemon/linux/late/late_map.h"
#include "daemon/linux/launch/launch_sys.h"

#define ROOT "/root"

/* What the child is asked for, and answers: one byte each. */
enum { ASK_PERMITTED = 'p', ASK_REFUSED = 'r', ANSWER_AS_ASKED = 'y', ANSWER_OTHERWISE = 'n' };

static const struct path_rule rules[] = {
	{ PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, 0, "/**/*.secret" },
	{ PATH_EXEMPT, PATH_RULE_BUILT_IN, 0, "/**/no.secret" },
	{ PATH_DENY_WRITE, PATH_RULE_BUILT_IN, 0, ROOT "/folder/planted" },
};

static int scratch(void)
{
	_cleanup_close_ int fs = syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
	int mount;

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount = syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	if (mount < 0)
		return -errno;
	return mount;
}

/* 0, or the errno of opening it. */
static int opens(int dir, const char *name, int flags)
{
	_cleanup_close_ int fd = openat(dir, name, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : 0;
}

static int renames(int dir, const char *from, const char *to)
{
	return renameat(dir, from, dir, to) < 0 ? errno : 0;
}

/* Leaves everything as it was, whatever the kernel says. */
static bool is_as_asked(int dir, char asked)
{
	int want = asked == ASK_REFUSED ? EACCES : 0;
	bool good = opens(dir, "a.secret", O_RDONLY) == want;
	int made = opens(dir, "folder/planted", O_WRONLY | O_CREAT | O_EXCL);
	int moved = renames(dir, "folder", "elsewhere");

	if (moved == 0)
		renames(dir, "elsewhere", "folder");
	if (made == 0)
		unlinkat(dir, "folder/planted", 0);
	good &= made == want && moved == want;
	/* Never refused. */
	good &= opens(dir, "no.secret", O_RDONLY) == 0;
	good &= opens(dir, "folder/free", O_WRONLY | O_CREAT) == 0;
	return good;
}

/* A second process does it: pid 1 may read anything. */
static void child(int dir, int link)
{
	pid_t second = fork();
	char byte;

	if (second != 0) {
		fd_close(link);
		if (second > 0)
			waitpid(second, NULL, 0);
		_exit(0);
	}
	while (read(link, &byte, 1) == 1) {
		byte = is_as_asked(dir, byte) ? ANSWER_AS_ASKED : ANSWER_OTHERWISE;
		if (write(link, &byte, 1) != 1)
			break;
	}
	_exit(0);
}

static bool ask(int link, char byte)
{
	return write(link, &byte, 1) == 1 && read(link, &byte, 1) == 1 && byte == ANSWER_AS_ASKED;
}

static int prepare(int dir, const struct late_loaded *loaded, struct late_record *record)
{
	enum late_state states[ARRAY_SIZE(rules)];
	struct late_place place = { .path = ROOT };
	struct late_compile c = {
		.rules = rules, .n_rules = ARRAY_SIZE(rules), .places = &place, .n_places = 1, .seed = 1
	};
	int r;

	if (opens(dir, "a.secret", O_WRONLY | O_CREAT) != 0 || opens(dir, "no.secret", O_WRONLY | O_CREAT) != 0 ||
	    mkdirat(dir, "folder", 0700) < 0)
		return -errno;
	r = late_map_addresses(loaded->folders, &dir, 1, &place.inode);
	if (r < 0)
		return r;
	r = late_compile(&c, record, states);
	return r > 0 ? -EINVAL : r;
}

static const char *examine(int link, pid_t pid, int map, const struct late_record *record)
{
	_cleanup_close_ int proc = -1;
	const char *wrong = NULL;
	char path[32];
	uint32_t key;

	snprintf(path, sizeof(path), "%d", (int)pid);
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || late_map_key(proc, path, &key) < 0)
		return "the pid namespace of a child cannot be seen";
	if (!ask(link, ASK_PERMITTED))
		return "something is refused without a rule";
	if (late_map_set(map, key, record) < 0)
		return "a record cannot be stored";
	if (!ask(link, ASK_REFUSED))
		wrong = "they are attached and do not refuse; is bpf missing in /sys/kernel/security/lsm?";
	if (late_map_remove(map, key) < 0)
		return "a record cannot be removed";
	if (!wrong && !ask(link, ASK_PERMITTED))
		wrong = "they refuse without a record";
	return wrong;
}

int late_try(const struct late_loaded *loaded, struct error *e)
{
	static struct late_record record;
	_cleanup_close_ int dir = -1, mount = scratch();
	const char *wrong;
	int link[2], r;
	pid_t pid;

	dir = mount < 0 ? mount : openat(mount, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : prepare(dir, loaded, &record);
	if (r == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link) < 0)
		r = -errno;
	if (r != 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "late guard", "",
				 "The programs of the late guard cannot be tried: %s.", strerror(-r));
	pid = launch_sys_clone3(CLONE_NEWPID);
	if (pid == 0) {
		fd_close(link[0]);
		child(dir, link[1]);
	}
	fd_close(link[1]);
	wrong = pid < 0 ? "no child can be made" : examine(link[0], pid, loaded->sessions, &record);
	fd_close(link[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return wrong ? error_set(e, ERROR_SANDBOX_UNAVAILABLE, EOPNOTSUPP, "late guard", "",
				 "The programs of the late guard were tried: %s", wrong)
		     : 0;
}
