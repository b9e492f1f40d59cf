/* The filter of the connector: the calls that it needs, and a sample of those that it must not have. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/linux/launch/launch_confine.h"

static const struct {
	long call, args[3];
	int err; /* 0: it succeeds */
} calls[] = {
	{ SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
	{ SYS_openat, { AT_FDCWD, (long)"/", O_PATH }, 0 },
	{ SYS_close, { 0 }, 0 },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 0 }, EPERM },
	{ SYS_openat, { AT_FDCWD, (long)"/", O_RDONLY }, EPERM },
	{ SYS_openat, { AT_FDCWD, (long)"/dev/null", O_WRONLY }, EPERM },
	{ SYS_read, { 1, 0, 0 }, EPERM },
	{ SYS_write, { 1, 0, 0 }, EPERM },
	{ SYS_kill, { 0, 0 }, EPERM },
	{ SYS_getpid, { 0 }, EPERM },
	{ SYS_setresuid, { -1, -1, -1 }, EPERM },
	{ SYS_execve, { (long)"/bin/true", 0, 0 }, EPERM },
	{ SYS_clone, { SIGCHLD, 0, 0 }, EPERM },
	{ SYS_ptrace, { 0, 0, 0 }, EPERM },
	{ SYS_bind, { 0, 0, 0 }, EPERM },
	{ SYS_fchmod, { 1, 0, 0 }, EPERM },
	{ SYS_prctl, { PR_GET_DUMPABLE, 0, 0 }, EPERM },
};

/* 1 + the case that was answered otherwise; 0: none; 100: there is no filter. */
static int run(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || launch_confine_connector() < 0)
		return 100;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		long r = syscall(calls[i].call, calls[i].args[0], calls[i].args[1], calls[i].args[2]);

		if (calls[i].err ? r >= 0 || errno != calls[i].err : r < 0)
			return (int)i + 1;
	}
	return 0;
}

static void connector(void **state)
{
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(connector) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
