#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

#include <grp.h>
#include <sys/syscall.h>

#include "base/limits.h"
#include "daemon/monitor/peers.h"

/* The other end of a connection made by a child with these ids; what the kernel noted stays after its end. */
static int connection_of(uid_t uid, gid_t gid, const gid_t *groups, size_t n)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(address);
	int fd, status;
	pid_t pid;

	/* An address of the kernel's choice. */
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		_exit(syscall(SYS_setgroups, n, groups) < 0 || setresgid(gid, gid, gid) < 0 ||
		      setresuid(uid, uid, uid) < 0 || connect(sock, (struct sockaddr *)&address, len) < 0);
	}
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return fd;
}

static void test_ids_and_groups(void **state)
{
	static const gid_t groups[] = { 5, 1000, 4000000000u };
	struct peers peers = PEERS_INIT;
	const struct peer *p;
	_cleanup_close_ int fd = connection_of(1234, 4321, groups, 3);

	assert_int_equal(peers_add(&peers, fd, &p), 0);
	assert_int_equal(p->uid, 1234);
	assert_int_equal(p->gid, 4321);
	assert_true(p->pid > 0);
	assert_int_equal(p->n_groups, 3);
	assert_memory_equal(p->groups, groups, sizeof(groups));
	assert_ptr_equal(peers_find(&peers, p->number), p);
	assert_null(peers_find(&peers, p->number + 1));
	peers_clear(&peers);
	assert_int_equal(peers.count, 0);
}

static void test_no_groups(void **state)
{
	struct peers peers = PEERS_INIT;
	const struct peer *p;
	_cleanup_close_ int fd = connection_of(1, 1, NULL, 0);

	assert_int_equal(peers_add(&peers, fd, &p), 0);
	assert_int_equal(p->n_groups, 0);
	peers_clear(&peers);
}

static void test_many_groups(void **state)
{
	static gid_t groups[LIMIT_GROUPS + 1];
	struct peers peers = PEERS_INIT;
	const struct peer *p;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		groups[i] = 100 + i;
	fd = connection_of(1, 1, groups, LIMIT_GROUPS);
	assert_int_equal(peers_add(&peers, fd, &p), 0);
	assert_int_equal(p->n_groups, LIMIT_GROUPS);
	fd_close(fd);
	fd = connection_of(1, 1, groups, LIMIT_GROUPS + 1);
	assert_int_equal(peers_add(&peers, fd, &p), -E2BIG);
	assert_int_equal(peers.count, 1);
	fd_close(fd);
	peers_clear(&peers);
}

static void test_numbers_and_quota(void **state)
{
	struct peers peers = PEERS_INIT;
	const struct peer *p;
	uint64_t first;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(peers_add(&peers, pair[0], &p), 0);
	first = p->number;
	for (unsigned i = 1; i < LIMIT_CONNECTIONS_PER_UID; i++)
		assert_int_equal(peers_add(&peers, pair[0], &p), 0);
	assert_int_equal(peers_add(&peers, pair[0], &p), -EDQUOT);
	assert_int_equal(peers_remove(&peers, first), 0);
	assert_int_equal(peers_remove(&peers, first), -ENOENT);
	assert_int_equal(peers_add(&peers, pair[0], &p), 0);
	assert_true(p->number > first + 1);
	peers_clear(&peers);
	close(pair[0]);
	close(pair[1]);
}

static void test_no_socket(void **state)
{
	struct peers peers = PEERS_INIT;
	const struct peer *p;
	_cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_int_equal(peers_add(&peers, fd, &p), -ENOTSOCK);
	assert_int_equal(peers.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_and_groups), cmocka_unit_test(test_no_groups),
		cmocka_unit_test(test_many_groups),    cmocka_unit_test(test_numbers_and_quota),
		cmocka_unit_test(test_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
