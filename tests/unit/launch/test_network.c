/* The session's network with the rules that isod gives to every session: all ways lead to the listeners. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/linux/filter/nft_rules.h"
#include "daemon/wire/netns.h"
#include "tests/unit/launch/driver.h"

#define ORIGINAL_DESTINATION 80 /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST */
#define PYTHON(script) ((const char *const[]){ "python3", "-c", script, NULL })

struct session {
	struct buffer rules;
	struct link_message message;
	struct driver driver; /* last, since it has no fixed end */
};

static void start(struct session *s, const char *const *argv)
{
	*s = (struct session){ .rules = BUFFER_INIT(NFT_RULES_MAX) };
	driver_init(&s->driver, argv);
	assert_int_equal(nft_rules_build(&s->rules), 0);
	s->driver.ruleset = s->rules.data;
	s->driver.ruleset_len = s->rules.len;
	driver_start(&s->driver);
	if (driver_report(&s->driver) != 0)
		fail_msg("%s: %s", s->driver.error.step, s->driver.error.message);
	driver_link(&s->driver, LINK_STARTED, &s->message);
}

static void stop(struct session *s)
{
	driver_done(&s->driver);
	buffer_done(&s->rules);
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 60000), 1);
}

/* Accepts, and compares the address that the program wanted to reach. */
static int accept_for(int listener, const char *address, uint16_t port)
{
	struct sockaddr_in6 got = { 0 };
	socklen_t len = sizeof(got);
	char text[INET6_ADDRSTRLEN];
	bool six = strchr(address, ':') != NULL;
	int fd;

	wait_readable(listener);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, six ? SOL_IPV6 : SOL_IP, ORIGINAL_DESTINATION, &got, &len), 0);
	inet_ntop(six ? AF_INET6 : AF_INET,
		  six ? (void *)&got.sin6_addr : (void *)&((struct sockaddr_in *)&got)->sin_addr, text, sizeof(text));
	assert_string_equal(text, address);
	assert_int_equal(ntohs(got.sin6_port), port);
	return fd;
}

static void tcp_is_captured(void **state)
{
	struct session s;

	start(&s, PYTHON("import socket\n"
			 "for a, p in (('198.18.7.7', 443), ('fd69:736f:6400::7', 5432), ('1.1.1.1', 80)):\n"
			 " socket.create_connection((a, p)).sendall(b'x')\n"
			 " input()"));
	fd_close(accept_for(s.driver.listeners[LISTENER_CAPTURE_V4], "198.18.7.7", 443));
	assert_int_equal(write(s.driver.input, "\n", 1), 1);
	fd_close(accept_for(s.driver.listeners[LISTENER_CAPTURE_V6], "fd69:736f:6400::7", 5432));
	assert_int_equal(write(s.driver.input, "\n", 1), 1);
	fd_close(accept_for(s.driver.listeners[LISTENER_CAPTURE_V4], "1.1.1.1", 80));
	assert_int_equal(write(s.driver.input, "\n", 1), 1);
	driver_link(&s.driver, LINK_EXITED, &s.message);
	assert_int_equal(s.message.value, 0);
	stop(&s);
}

static void answer_dns(int fd, const char *question)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char data[32];
	ssize_t n;

	wait_readable(fd);
	n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &len);
	assert_int_equal(n, strlen(question));
	assert_memory_equal(data, question, (size_t)n);
	assert_int_equal(sendto(fd, "answer", 6, 0, (struct sockaddr *)&from, len), 6);
}

/* The answer must come from the address that was asked, else resolvers drop it. */
static void dns_is_captured(void **state)
{
	struct session s;

	start(&s, PYTHON("import socket\n"
			 "for f, a in ((2, '198.18.0.1'), (10, 'fd69:736f:6400::1'), (2, '8.8.8.8')):\n"
			 " u = socket.socket(f, socket.SOCK_DGRAM); u.connect((a, 53)); u.send(a.encode())\n"
			 " assert u.recv(99) == b'answer'\n"));
	answer_dns(s.driver.listeners[LISTENER_DNS_UDP_V4], "198.18.0.1");
	answer_dns(s.driver.listeners[LISTENER_DNS_UDP_V6], "fd69:736f:6400::1");
	answer_dns(s.driver.listeners[LISTENER_DNS_UDP_V4], "8.8.8.8");
	driver_link(&s.driver, LINK_EXITED, &s.message);
	assert_int_equal(s.message.value, 0);
	stop(&s);
}

static void refused_packets_are_logged(void **state)
{
	struct session s;
	uint8_t data[4096];

	start(&s, PYTHON("import socket\n"
			 "u = socket.socket(2, socket.SOCK_DGRAM); u.connect(('1.1.1.1', 443))\n"
			 "try: u.send(b'quic'); u.recv(9)\n"
			 "except OSError as e: print('refused')\n"));
	driver_output(&s.driver);
	/* At once, so that programs fall back to TCP. */
	assert_string_equal(s.driver.text, "refused\n");
	wait_readable(s.driver.listeners[LISTENER_NFLOG]);
	ssize_t n = recv(s.driver.listeners[LISTENER_NFLOG], data, sizeof(data), 0);
	assert_true(n > 0);
	assert_non_null(memmem(data, (size_t)n, "quic", 4));
	stop(&s);
}

static void the_owner_of_a_connection_is_known(void **state)
{
	struct session s;
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	struct link_message who = {
		.type = LINK_WHO, .query = 77, .family = AF_INET, .to_port = 443, .to_address = { 198, 18, 7, 7 }
	};
	int fd;

	start(&s, PYTHON("import socket; c = socket.create_connection(('198.18.7.7', 443)); input()"));
	fd = accept_for(s.driver.listeners[LISTENER_CAPTURE_V4], "198.18.7.7", 443);
	assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	who.port = ntohs(peer.sin_port);
	memcpy(who.address, &peer.sin_addr, 4);
	driver_send(&s.driver, &who);
	driver_link(&s.driver, LINK_OWNER, &s.message);
	assert_int_equal(s.message.query, 77);
	assert_true(s.message.value > 1);
	assert_non_null(strstr(s.message.text, "python3"));
	who.query = 78;
	who.port = 1;
	driver_send(&s.driver, &who);
	driver_link(&s.driver, LINK_OWNER, &s.message);
	assert_int_equal(s.message.query, 78);
	assert_int_equal(s.message.value, 0);
	assert_string_equal(s.message.text, "");
	fd_close(fd);
	stop(&s);
}

/* The answer to LINK_SOCKET; other messages are dropped. */
static int receive_socket(struct session *s)
{
	for (;;) {
		struct link_message m;
		size_t n_fds = 1;
		int fd = -1;

		assert_int_equal(fd_pass_receive(s->driver.link, &m, sizeof(m), &fd, &n_fds), sizeof(m));
		if (m.type != LINK_SOCKET)
			continue;
		assert_int_equal(m.query, 7);
		assert_int_equal(m.value, 0);
		assert_int_equal(n_fds, 1);
		return fd;
	}
}

/* Whoever connects a socket of pid 1's reaches what listens inside, wherever itself is. */
static void sockets_of_the_namespace_are_made_later(void **state)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons(8000),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct session s;
	char ready;
	int fd;

	start(&s, PYTHON("import socket\n"
			 "l = socket.create_server(('127.0.0.1', 8000))\n"
			 "print(end='r', flush=True)\n"
			 "assert l.accept()[0].recv(9) == b'x'\n"));
	assert_int_equal(read(s.driver.output, &ready, 1), 1);
	driver_send(&s.driver, &(struct link_message){ .type = LINK_SOCKET, .query = 7, .family = AF_INET6 });
	fd_close(receive_socket(&s));
	driver_send(&s.driver, &(struct link_message){ .type = LINK_SOCKET, .query = 7, .family = AF_INET });
	fd = receive_socket(&s);
	assert_int_equal(fd_set_nonblock(fd, false), 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	driver_link(&s.driver, LINK_EXITED, &s.message);
	assert_int_equal(s.message.value, 0);
	fd_close(fd);
	stop(&s);
}

/* No socket of another kind: it is a malformed question, and ends the session. */
static void sockets_of_other_families_are_not_made(void **state)
{
	struct link_message m;
	struct session s;
	size_t n_fds = 0;
	ssize_t n;

	start(&s, PYTHON("input()"));
	driver_send(&s.driver, &(struct link_message){ .type = LINK_SOCKET, .query = 7, .family = AF_UNIX });
	do
		n = fd_pass_receive(s.driver.link, &m, sizeof(m), NULL, &n_fds);
	while (n > 0 && m.type != LINK_SOCKET);
	assert_true(n == 0 || n == -ECONNRESET);
	stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tcp_is_captured),
		cmocka_unit_test(dns_is_captured),
		cmocka_unit_test(refused_packets_are_logged),
		cmocka_unit_test(the_owner_of_a_connection_is_known),
		cmocka_unit_test(sockets_of_the_namespace_are_made_later),
		cmocka_unit_test(sockets_of_other_families_are_not_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
