/* Lent Unix sockets, with pid 1 and the connector played by the test. */
#include "daemon/session/unix_sockets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "base/limits.h"
#include "daemon/session/events.h"
#include "daemon/session/link.h"
#include "daemon/session/owner.h"
#include "policy/egress.h"

#define NUMBER 7
#define PATH "/run/there.sock"

static uv_loop_t loop;
static struct events *events;
static struct link *link_under_test;
static struct unix_sockets *sockets;
static int pid1, connector;
static struct sockaddr_un address;
static socklen_t address_len;

static void on_ended(void *data, int err) {}

static const struct link_handlers handlers = { .ended = on_ended };

static int setup(void **state)
{
	int link[2], ends[2], listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, link), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	pid1 = link[1];
	connector = ends[1];
	events = events_new(EVENTS_MAX, NULL, NULL);
	assert_int_equal(link_open(&loop, link[0], &handlers, NULL, &link_under_test), 0);
	assert_int_equal(unix_sockets_open(&loop, events, link_under_test, ends[0], &sockets), 0);
	/* A name of the kernel's choice. */
	address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	address_len = sizeof(address);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &address_len), 0);
	assert_int_equal(listen(listener, 2 * LIMIT_UNIX_CONNECTIONS), 0);
	return unix_sockets_add(sockets, listener, NUMBER, PATH);
}

static int teardown(void **state)
{
	unix_sockets_close(sockets);
	link_close(link_under_test);
	uv_run(&loop, UV_RUN_DEFAULT);
	link_free(link_under_test);
	events_free(events);
	fd_close(pid1);
	fd_close(connector);
	return uv_loop_close(&loop);
}

static int program(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, address_len), 0);
	return fd;
}

/* Runs the loop until something is there to be read; -1: nothing is, although the loop waits for nothing else. */
static ssize_t receive(int fd, void *data, size_t len)
{
	ssize_t n;

	while ((n = recv(fd, data, len, 0)) < 0 && errno == EAGAIN)
		uv_run(&loop, UV_RUN_ONCE);
	return n;
}

/* pid 1 says who connected. */
static void say_who(void)
{
	struct link_message m;

	assert_int_equal(receive(pid1, &m, sizeof(m)), sizeof(m));
	assert_int_equal(m.type, LINK_WHO);
	assert_int_equal(m.family, AF_UNIX);
	m = (struct link_message){ .type = LINK_OWNER, .query = m.query, .value = 12, .text = "/usr/bin/psql" };
	assert_int_equal(fd_pass_send(pid1, &m, sizeof(m), NULL, 0), sizeof(m));
}

static uint32_t asked(void)
{
	struct link_message m;

	assert_int_equal(receive(connector, &m, sizeof(m)), sizeof(m));
	assert_int_equal(m.type, LINK_SOCKET);
	assert_int_equal(m.value, NUMBER);
	return m.query;
}

/* fd: closed; or -errno. */
static void answer(uint32_t query, int fd)
{
	struct link_message m = { .type = LINK_SOCKET, .query = query, .value = fd < 0 ? fd : 0 };

	assert_int_equal(fd_pass_send(connector, &m, sizeof(m), &fd, fd >= 0), sizeof(m));
	if (fd >= 0)
		fd_close(fd);
}

static struct session_connection told(void)
{
	struct session_connection c = { 0 };
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(events_flush(events, ends[0]), 0);
	assert_int_equal(recv(ends[1], &c, sizeof(c), 0), sizeof(c));
	fd_close(ends[0]);
	fd_close(ends[1]);
	return c;
}

/* Bytes both ways, each way ends by itself, and a descriptor that is sent along stays behind. */
static void test_joined(void **state)
{
	_cleanup_close_ int fd = program();
	int ends[2], passed[1];
	size_t n_fds = 1;
	char text[8];
	struct session_connection c;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	say_who();
	answer(asked(), ends[0]);
	assert_int_equal(fd_pass_send(fd, "hello", 5, (int[]){ 0 }, 1), 5);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	while (recv(ends[1], text, 5, MSG_PEEK) < 0)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(fd_pass_receive(ends[1], text, sizeof(text), passed, &n_fds), 5);
	assert_int_equal(n_fds, 0);
	assert_int_equal(receive(ends[1], text, sizeof(text)), 0);
	assert_int_equal(send(ends[1], "bye", 3, 0), 3);
	fd_close(ends[1]);
	assert_int_equal(receive(fd, text, sizeof(text)), 3);
	assert_int_equal(receive(fd, text, sizeof(text)), 0);
	c = told();
	assert_int_equal(c.via, VIA_UNIX_SOCKET);
	assert_int_equal(c.allowed, 1);
	assert_int_equal(c.bytes_up, 5);
	assert_int_equal(c.bytes_down, 3);
	assert_int_equal(c.pid, 12);
	assert_string_equal(c.name, PATH);
	assert_string_equal(c.program, "/usr/bin/psql");
}

/* No room in the service's backlog: it is asked again, not refused. */
static void test_full(void **state)
{
	_cleanup_close_ int fd = program();
	uint32_t query;
	char byte;

	say_who();
	query = asked();
	answer(query, -EAGAIN);
	assert_int_not_equal(asked(), query);
	/* and it still waits */
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, EAGAIN);
}

static void test_nobody_there(void **state)
{
	_cleanup_close_ int fd = program();
	struct session_connection c;
	char byte;

	say_who();
	answer(asked(), -ECONNREFUSED);
	assert_int_equal(receive(fd, &byte, 1), 0);
	c = told();
	assert_int_equal(c.allowed, 0);
	assert_int_equal(c.reason, EGRESS_UNREACHABLE);
}

/* Gone, or not to be understood: what waits for it ends, and so does what comes later. */
static void test_without_connector(void **state)
{
	_cleanup_close_ int fd = program(), later = -1;
	char byte;

	say_who();
	(void)asked();
	assert_int_equal(send(connector, "x", 1, 0), 1);
	assert_int_equal(receive(fd, &byte, 1), 0);
	assert_int_equal(recv(connector, &byte, 1, 0), 0);
	later = program();
	say_who();
	assert_int_equal(receive(later, &byte, 1), 0);
}

/* Beyond the bound a connection waits until another one ends. */
static void test_bounded(void **state)
{
	int fds[LIMIT_UNIX_CONNECTIONS], last;
	uint32_t queries[LIMIT_UNIX_CONNECTIONS];
	struct link_message m;

	for (size_t i = 0; i < LIMIT_UNIX_CONNECTIONS; i++) {
		fds[i] = program();
		say_who();
		queries[i] = asked();
	}
	last = program();
	for (int i = 0; i < 3; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(recv(pid1, &m, sizeof(m), 0), -1);
	answer(queries[0], -ENOENT);
	say_who();
	assert_int_not_equal(asked(), 0);
	fd_close(last);
	for (size_t i = 0; i < LIMIT_UNIX_CONNECTIONS; i++)
		fd_close(fds[i]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(test_joined),  TEST(test_full), TEST(test_nobody_there), TEST(test_without_connector),
		TEST(test_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
