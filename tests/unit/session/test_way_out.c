/* What the gateway needs of the system works under the rights that the program has left: dialling, splicing, name
 * resolution in threads, refusals in the audit. */
#include "tests/unit/session/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

#define BULK (8U << 20)

static struct egress_rule rule_list[3];
static struct egress_pin pin = { .name = "pinned.example", .n_addresses = 1 };
static struct egress_rules rules = { .rules = rule_list, .n_rules = 3, .pins = &pin, .n_pins = 1 };

static int make_server(uint16_t *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(fd, 4), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

static int connect_proxy(struct driver *d)
{
	struct timeval timeout = { .tv_sec = 60 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&d->address[LISTENER_PROXY_V4], sizeof(struct sockaddr_in)), 0);
	return fd;
}

/* The status of the answer to a CONNECT; the head is read to its end. */
static int request_tunnel(int fd, const char *name, uint16_t port)
{
	char text[4096];
	size_t n = 0;
	int status;

	snprintf(text, sizeof(text), "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", name, port, name, port);
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	do {
		assert_true(n < sizeof(text) - 1);
		assert_int_equal(recv(fd, text + n, 1, 0), 1);
		text[++n] = '\0';
	} while (!strstr(text, "\r\n\r\n"));
	assert_int_equal(sscanf(text, "HTTP/1.1 %d", &status), 1);
	return status;
}

static void answer_who(struct driver *d)
{
	struct link_message m;

	driver_link_receive(d, &m);
	assert_int_equal(m.type, LINK_WHO);
	assert_int_equal(m.family, AF_INET);
	m = (struct link_message){ .type = LINK_OWNER, .query = m.query, .value = 42, .text = "/usr/bin/c\nurl" };
	driver_link_send(d, &m, -1);
}

static void push_bulk(int from, int to)
{
	static char out[65536], in[65536];
	size_t sent = 0, got = 0;

	memset(out, 0xb2, sizeof(out));
	while (got < BULK) {
		size_t left = BULK - sent < sizeof(out) ? BULK - sent : sizeof(out);
		ssize_t n = left > 0 ? send(from, out, left, MSG_DONTWAIT) : 0;

		if (n > 0)
			sent += (size_t)n;
		n = recv(to, in, sizeof(in), 0);
		if (n <= 0)
			fail_msg("%zu of %zu bytes: %s", got, sent, n < 0 ? strerror(errno) : "closed");
		got += (size_t)n;
	}
	assert_int_equal(sent, got);
}

static void test_tunnel(void **state)
{
	struct driver d;
	union driver_event e;
	uint16_t port;
	int server = make_server(&port), client, peer;

	(void)state;
	rule_list[0] = (struct egress_rule){ .kind = EGRESS_RULE_HOST, .name = "pinned.example", .port = port };
	rule_list[1] = (struct egress_rule){ .kind = EGRESS_RULE_HOST, .name = "never.invalid" };
	rule_list[2] = (struct egress_rule){ .kind = EGRESS_RULE_HOST, .name = "other.example" };
	pin.addresses[0].family = AF_INET;
	memcpy(pin.addresses[0].address, "\177\0\0\1", 4);
	driver_start(&d, &rules, 0);
	driver_listen(&d);

	client = connect_proxy(&d);
	assert_int_equal(request_tunnel(client, "pinned.example", port), 200);
	peer = accept(server, NULL, NULL);
	assert_true(peer >= 0);
	answer_who(&d);
	push_bulk(client, peer);
	push_bulk(peer, client);
	fd_close(client);
	fd_close(peer);
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.allowed, 1);
	assert_string_equal(e.connection.name, "pinned.example");
	assert_int_equal(e.connection.bytes_up, BULK);
	assert_int_equal(e.connection.bytes_down, BULK);
	assert_int_equal(e.connection.pid, 42);
	assert_string_equal(e.connection.program, "/usr/bin/c\\x0aurl");

	/* getaddrinfo() in its thread: answers, whatever it answers. */
	client = connect_proxy(&d);
	assert_true(request_tunnel(client, "never.invalid", 443) >= 500);
	fd_close(client);
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.reason, EGRESS_UNRESOLVED);

	client = connect_proxy(&d);
	assert_int_equal(request_tunnel(client, "evil.example", 443), 403);
	fd_close(client);
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.reason, EGRESS_NOT_LISTED);
	d.link = fd_close(d.link);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(driver_event(&d, &e), 0);
	assert_int_equal(driver_wait(&d), 0);
	fd_close(server);
}

/* A tunnel to a server that reads nothing yet, filled until nothing more goes in; then the program is gone. Returns how
 * much was sent. */
static size_t fill_and_exit(struct driver *d, int server, uint16_t port, int *ret_peer)
{
	static char out[65536];
	struct link_message m = { .type = LINK_EXITED, .kind = EXIT_KIND_CODE };
	/* A socket that takes nothing for so long is full, as is everything behind it. */
	const struct timeval full = { .tv_usec = 200000 };
	int client = connect_proxy(d);
	size_t sent = 0;
	ssize_t n;

	assert_int_equal(request_tunnel(client, "pinned.example", port), 200);
	*ret_peer = accept(server, NULL, NULL);
	assert_true(*ret_peer >= 0);
	memset(out, 0xb2, sizeof(out));
	/* The first bytes of a client are looked at before any goes out: let them be through. */
	assert_int_equal(send(client, out, 1, 0), 1);
	assert_int_equal(recv(*ret_peer, out + 1, 1, 0), 1);
	assert_int_equal(setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &full, sizeof(full)), 0);
	while ((n = send(client, out, sizeof(out), 0)) > 0)
		sent += (size_t)n;
	fd_close(client);
	driver_link_send(d, &m, -1);
	d->link = fd_close(d->link);
	return sent;
}

static void start_with_server(struct driver *d, int *ret_server, uint16_t *ret_port)
{
	*ret_server = make_server(ret_port);
	rule_list[0] = (struct egress_rule){ .kind = EGRESS_RULE_HOST, .name = "pinned.example", .port = *ret_port };
	pin.addresses[0].family = AF_INET;
	memcpy(pin.addresses[0].address, "\177\0\0\1", 4);
	driver_start(d, &rules, 0);
	driver_listen(d);
}

static void test_last_bytes_arrive(void **state)
{
	static char in[65536];
	struct driver d;
	union driver_event e;
	uint16_t port;
	int server, peer;
	size_t sent, got = 0;
	ssize_t n;

	(void)state;
	start_with_server(&d, &server, &port);
	sent = fill_and_exit(&d, server, port, &peer);
	while ((n = recv(peer, in, sizeof(in), 0)) > 0)
		got += (size_t)n;
	assert_int_equal(n, 0);
	assert_int_equal(got, sent);
	fd_close(peer);
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.bytes_up, sent + 1);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(driver_wait(&d), 0);
	fd_close(server);
}

/* A server that never reads holds the end of the session up only for a while, and one by force not at all. */
static void test_end_does_not_wait_for_ever(void **state)
{
	for (int forced = 0; forced < 2; forced++) {
		struct driver d;
		union driver_event e;
		uint16_t port;
		int server, peer;
		size_t sent;

		(void)state;
		start_with_server(&d, &server, &port);
		if (forced)
			driver_control_send(&d, SESSION_ENDING, EXIT_KIND_SIGNAL, 9, -1);
		sent = fill_and_exit(&d, server, port, &peer);
		assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
		assert_true(e.connection.bytes_up < sent);
		assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
		assert_int_equal(driver_wait(&d), 0);
		fd_close(peer);
		fd_close(server);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tunnel),
		cmocka_unit_test(test_last_bytes_arrive),
		cmocka_unit_test(test_end_does_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
