#include "tests/unit/session/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/linux/filter/seccomp_session.h"
#include "daemon/wire/fds.h"
#include "policy/egress_wire.h"

/* Ids that own nothing on any system. Without root the test's own are used. */
#define TEST_ID 64123

static void place(int fd, int number)
{
	if (dup2(fd, number) < 0)
		_exit(98);
}

static void exec_session(int control, int link, int egress, int context, int filter)
{
	const char *program = getenv("ISOD_SESSION");
	int fds[5] = { control, link, egress, context, filter };

	/* Out of the way of the fixed numbers first. */
	for (int i = 0; i < 5; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, 32);
	place(fds[0], SESSION_FD_CONTROL);
	place(fds[1], SESSION_FD_LINK);
	place(fds[2], SESSION_FD_EGRESS);
	place(fds[3], SESSION_FD_CONTEXT);
	place(fds[4], SESSION_FD_SECCOMP);
	execl(program, program, NULL);
	_exit(99);
}

static int kernel_flags(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1 ? SESSION_HAS_LANDLOCK : 0;
}

void driver_start(struct driver *d, const struct egress_rules *rules, unsigned flags)
{
	struct session_context context = {
		.size = sizeof(context),
		.net_uid = geteuid() == 0 ? TEST_ID : geteuid(),
		.net_gid = geteuid() == 0 ? TEST_ID : getegid(),
		.flags = flags | (unsigned)kernel_flags(),
		.id = "0123456789ab",
	};
	struct timeval timeout = { .tv_sec = 60 };
	_cleanup_buffer_ struct buffer wire = BUFFER_INIT(LIMIT_EGRESS);
	_cleanup_buffer_ struct buffer filter = BUFFER_INIT(1 << 16);
	_cleanup_close_ int egress_fd = -1, context_fd = -1, filter_fd = -1;
	int control[2], link[2];

	assert_non_null(getenv("ISOD_SESSION"));
	assert_int_equal(egress_encode(rules, &wire), 0);
	egress_fd = fd_sealed_new("egress", wire.data, wire.len);
	context_fd = fd_sealed_new("context", &context, sizeof(context));
	assert_int_equal(seccomp_session_build(&filter), 0);
	filter_fd = fd_sealed_new("filter", filter.data, filter.len);
	assert_true(egress_fd >= 0 && context_fd >= 0 && filter_fd >= 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	d->pid = fork();
	assert_true(d->pid >= 0);
	if (d->pid == 0)
		exec_session(control[1], link[1], egress_fd, context_fd, filter_fd);
	fd_close(control[1]);
	fd_close(link[1]);
	d->control = control[0];
	d->link = link[0];
	assert_int_equal(setsockopt(d->control, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_int_equal(setsockopt(d->link, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
}

static int make_listener(struct driver *d, int i)
{
	bool udp = i == LISTENER_DNS_UDP_V4 || i == LISTENER_DNS_UDP_V6, v6 = i % 2 == 1;
	struct sockaddr_in6 *a = &d->address[i];
	struct sockaddr_in *v4 = (struct sockaddr_in *)a;
	socklen_t len = v6 ? sizeof(*a) : sizeof(*v4);
	int fd;

	if (i == LISTENER_NFLOG)
		return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	memset(a, 0, sizeof(*a));
	if (v6) {
		a->sin6_family = AF_INET6;
		a->sin6_addr = in6addr_loopback;
	} else {
		v4->sin_family = AF_INET;
		v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	}
	fd = socket(v6 ? AF_INET6 : AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)a, &len), 0);
	if (!udp)
		assert_int_equal(listen(fd, 16), 0);
	return fd;
}

void driver_listen(struct driver *d)
{
	struct link_message m = { .type = LINK_LISTENERS };
	int fds[LISTENER_COUNT];

	for (int i = 0; i < LISTENER_COUNT; i++)
		assert_true((fds[i] = make_listener(d, i)) >= 0);
	assert_int_equal(fd_pass_send(d->link, &m, sizeof(m), fds, LISTENER_COUNT), sizeof(m));
	for (int i = 0; i < LISTENER_COUNT; i++)
		fd_close(fds[i]);
}

void driver_link_send(struct driver *d, const struct link_message *m, int fd)
{
	assert_int_equal(fd_pass_send(d->link, m, sizeof(*m), &fd, fd >= 0), sizeof(*m));
}

void driver_link_receive(struct driver *d, struct link_message *ret)
{
	size_t none = 0;

	assert_int_equal(fd_pass_receive(d->link, ret, sizeof(*ret), NULL, &none), sizeof(*ret));
}

void driver_control_send(struct driver *d, uint32_t type, uint32_t kind, int32_t value, int fd)
{
	struct session_status m = { .type = type, .kind = kind, .value = value };

	assert_int_equal(fd_pass_send(d->control, &m, sizeof(m), &fd, fd >= 0), sizeof(m));
}

uint32_t driver_event(struct driver *d, union driver_event *ret)
{
	size_t none = 0;
	ssize_t n;

	do
		n = fd_pass_receive(d->control, ret, sizeof(*ret), NULL, &none);
	while (n > 0 && ret->type == SESSION_USAGE);
	if (n == 0 || n == -ECONNRESET)
		return 0;
	assert_true(n == sizeof(ret->status) || n == sizeof(ret->connection));
	return ret->type;
}

int driver_wait(struct driver *d)
{
	int status;

	assert_int_equal(waitpid(d->pid, &status, 0), d->pid);
	d->control = fd_close(d->control);
	d->link = fd_close(d->link);
	return status;
}
