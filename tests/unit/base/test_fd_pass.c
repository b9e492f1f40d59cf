/* Passing descriptors: what arrives, and that what does not fit is closed rather than leaked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"

struct pair {
	int a;
	int b;
	int n_open; /* in this process, once the pair was made */
	int files[FD_PASS_MAX + 4];
};

static int count_open(void)
{
	_cleanup_closedir_ DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	return n;
}

static void pair_open(struct pair *p, int type)
{
	int sock[2];

	assert_int_equal(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, sock), 0);
	p->a = sock[0];
	p->b = sock[1];
	for (size_t i = 0; i < ARRAY_SIZE(p->files); i++)
		p->files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	p->n_open = count_open();
}

static void pair_close(struct pair *p)
{
	fd_close(p->a);
	fd_close(p->b);
	for (size_t i = 0; i < ARRAY_SIZE(p->files); i++)
		fd_close(p->files[i]);
}

static void test_pass(void **state)
{
	struct pair p;
	char data[8] = "";

	pair_open(&p, SOCK_SEQPACKET);
	for (size_t n = 0; n <= FD_PASS_MAX; n++) {
		int fds[FD_PASS_MAX];
		size_t n_fds = FD_PASS_MAX;
		struct stat sent, got;

		assert_int_equal(fd_pass_send(p.a, "hello", 5, p.files, n), 5);
		assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), 5);
		assert_string_equal(data, "hello");
		assert_int_equal(n_fds, n);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
			assert_int_equal(fstat(p.files[i], &sent), 0);
			assert_int_equal(fstat(fds[i], &got), 0);
			assert_int_equal(sent.st_ino, got.st_ino);
			fd_close(fds[i]);
		}
	}
	assert_int_equal(count_open(), p.n_open);
	pair_close(&p);
}

static void test_too_many_to_send(void **state)
{
	struct pair p;

	pair_open(&p, SOCK_SEQPACKET);
	assert_int_equal(fd_pass_send(p.a, "x", 1, p.files, FD_PASS_MAX + 1), -E2BIG);
	pair_close(&p);
}

static void test_no_room_for_fds(void **state)
{
	struct pair p;
	char data[8];

	pair_open(&p, SOCK_SEQPACKET);
	for (size_t room = 0; room < 3; room++) {
		int fds[3] = { -7, -7, -7 };
		size_t n_fds = room;

		assert_int_equal(fd_pass_send(p.a, "x", 1, p.files, 3), 1);
		assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), -EMSGSIZE);
		assert_int_equal(n_fds, room);
		for (size_t i = 0; i < 3; i++) /* closed, so nobody closes it again; not written past the room */
			assert_int_equal(fds[i], i < room ? -1 : -7);
		assert_int_equal(count_open(), p.n_open);
	}
	pair_close(&p);
}

/* It looks like the end of the file, and is no way to fill our table. */
static void test_empty_packet_with_descriptors(void **state)
{
	int fds[FD_PASS_MAX];
	size_t n_fds = FD_PASS_MAX;
	struct pair p;
	char data[8];

	pair_open(&p, SOCK_SEQPACKET);
	assert_int_equal(fd_pass_send(p.a, "", 0, p.files, 3), 0);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), 0);
	assert_int_equal(n_fds, 0);
	assert_int_equal(fds[0], -1);
	assert_int_equal(count_open(), p.n_open);
	pair_close(&p);
}

/* More than one control buffer holds: the kernel cuts the message, what came through is closed. */
static void test_control_truncated(void **state)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * (FD_PASS_MAX + 4))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (char[]){ "x" }, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof(control.space)
	};
	int fds[FD_PASS_MAX];
	size_t n_fds = FD_PASS_MAX;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	struct pair p;
	char data[8];

	pair_open(&p, SOCK_SEQPACKET);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(p.files));
	memcpy(CMSG_DATA(c), p.files, sizeof(p.files));
	assert_int_equal(sendmsg(p.a, &msg, 0), 1);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), -EMSGSIZE);
	assert_int_equal(count_open(), p.n_open);
	pair_close(&p);
}

static void test_data_truncated(void **state)
{
	struct pair p;
	int fds[2];
	size_t n_fds = 2;
	char data[4];

	pair_open(&p, SOCK_SEQPACKET);
	assert_int_equal(fd_pass_send(p.a, "12345", 5, p.files, 2), 5);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), -EMSGSIZE);
	assert_int_equal(count_open(), p.n_open);
	/* the next message is whole again */
	n_fds = 2;
	assert_int_equal(fd_pass_send(p.a, "1234", 4, p.files, 1), 4);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), 4);
	assert_int_equal(n_fds, 1);
	fd_close(fds[0]);
	pair_close(&p);
}

static void test_stream(void **state)
{
	struct pair p;
	int fds[2];
	size_t n_fds = 2;
	char data[16];

	pair_open(&p, SOCK_STREAM);
	assert_int_equal(fd_pass_send(p.a, "12345", 5, p.files, 1), 5);
	assert_int_equal(fd_pass_receive(p.b, data, 2, fds, &n_fds), 2);
	assert_int_equal(n_fds, 1); /* with the first byte */
	fd_close(fds[0]);
	n_fds = 2;
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), 3);
	assert_int_equal(n_fds, 0);
	pair_close(&p);
}

static void test_ends(void **state)
{
	struct pair p;
	int fds[2];
	size_t n_fds = 2;
	char data[16];

	pair_open(&p, SOCK_SEQPACKET);
	assert_int_equal(fd_set_nonblock(p.b, true), 0);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), -EAGAIN);
	p.a = fd_close(p.a);
	assert_int_equal(fd_pass_receive(p.b, data, sizeof(data), fds, &n_fds), 0);
	assert_int_equal(n_fds, 0);
	assert_int_equal(fd_pass_send(p.b, "x", 1, NULL, 0), -EPIPE); /* and no signal */
	assert_int_equal(fd_pass_receive(-1, data, sizeof(data), fds, &n_fds), -EBADF);
	assert_int_equal(fd_pass_send(-1, data, 1, NULL, 0), -EBADF);
	pair_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pass),
		cmocka_unit_test(test_too_many_to_send),
		cmocka_unit_test(test_no_room_for_fds),
		cmocka_unit_test(test_empty_packet_with_descriptors),
		cmocka_unit_test(test_control_truncated),
		cmocka_unit_test(test_data_truncated),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
