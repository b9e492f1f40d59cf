#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/monitor/peer_home.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t address_len;
static int listener;

/* In namespaces: a child of a child, since only that is in the pid namespace. Lives until killed. */
static pid_t connect_from(int namespaces)
{
	pid_t pid = fork();

	if (pid == 0) {
		int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (unshare(namespaces) < 0)
			_exit(1);
		if (fork() == 0) {
			if (connect(sock, (struct sockaddr *)&address, address_len) < 0)
				_exit(1);
			pause();
		}
		wait(NULL);
		_exit(0);
	}
	return pid;
}

static int check(int fd, pid_t *ret_pid)
{
	struct ucred credentials;
	socklen_t len = sizeof(credentials);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &len), 0);
	if (ret_pid)
		*ret_pid = credentials.pid;
	return peer_home_check(fd, credentials.pid);
}

static int check_from(int namespaces)
{
	pid_t pid = connect_from(namespaces), peer;
	_cleanup_close_ int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int r;

	assert_true(pid > 0 && fd >= 0);
	r = check(fd, &peer);
	assert_int_equal(kill(peer, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* Its parent has reaped it. */
	assert_int_equal(check(fd, NULL), -ESRCH);
	return r;
}

static void test_namespaces(void **state)
{
	assert_int_equal(check_from(0), 0);
	assert_int_equal(check_from(CLONE_NEWNS | CLONE_NEWNET), 0);
	assert_int_equal(check_from(CLONE_NEWPID), -EPERM);
	assert_int_equal(check_from(CLONE_NEWUSER), -EPERM);
}

static void test_reply(void **state)
{
	char reply[1024];
	ssize_t n;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	peer_home_refuse(pair[0]);
	n = recv(pair[1], reply, sizeof(reply), MSG_DONTWAIT);
	assert_true(n > 0);
	assert_int_equal(strlen(reply), n - 1);
	assert_non_null(strstr(reply, "org.isod.Refused"));
	close(pair[1]);
	/* No signal, no wait. */
	peer_home_refuse(pair[0]);
	close(pair[0]);
}

static int set_up(void **state)
{
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	address_len = sizeof(address);
	return bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)) < 0 || listen(listener, 1) < 0 ||
	       getsockname(listener, (struct sockaddr *)&address, &address_len) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_namespaces), cmocka_unit_test(test_reply) };

	return cmocka_run_group_tests(tests, set_up, NULL);
}
