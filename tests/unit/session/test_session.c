#include "tests/unit/session/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "policy/egress_wire.h"
#include "proto/stream.h"

static struct egress_rule rule_list[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "api.example.org" },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "example.net" },
	{ .kind = EGRESS_RULE_HOST, .name = "localhost.example", .port = 1 },
};
static struct egress_rules rules = { .rules = rule_list, .n_rules = 3 };

static void send_exit(struct driver *d, uint32_t kind, int32_t value)
{
	struct link_message m = { .type = LINK_EXITED, .kind = kind, .value = value };

	driver_link_send(d, &m, -1);
}

static void assert_clean_end(struct driver *d)
{
	union driver_event e;
	int status;

	assert_int_equal(driver_event(d, &e), 0);
	status = driver_wait(d);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_life_without_pty(void **state)
{
	struct driver d;
	union driver_event e;
	struct link_message m = { .type = LINK_STARTED, .value = 2 };

	(void)state;
	driver_start(&d, &rules, 0);
	driver_listen(&d);
	driver_link_send(&d, &m, -1);
	assert_int_equal(driver_event(&d, &e), SESSION_STARTED);
	assert_int_equal(e.status.value, 2);
	driver_control_send(&d, SESSION_SIGNAL, 0, 15, -1);
	driver_link_receive(&d, &m);
	assert_int_equal(m.type, LINK_SIGNAL);
	assert_int_equal(m.value, 15);
	m = (struct link_message){ .type = LINK_STOPPED, .value = 20 };
	driver_link_send(&d, &m, -1);
	assert_int_equal(driver_event(&d, &e), SESSION_STOPPED);
	send_exit(&d, EXIT_KIND_CODE, 7);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.kind, EXIT_KIND_CODE);
	assert_int_equal(e.status.value, 7);
	assert_clean_end(&d);
}

/* What `ps`, a debugger or the kernel would say about the process. */
static void test_rights(void **state)
{
	static const char *const lines[] = { "CapInh:\t0000000000000000",
					     "CapPrm:\t0000000000000000",
					     "CapEff:\t0000000000000000",
					     "CapAmb:\t0000000000000000",
					     "NoNewPrivs:\t1",
					     "Seccomp:\t2" };
	struct driver d;
	union driver_event e;
	struct link_message m = { .type = LINK_STARTED, .value = 2 };
	char path[64], *text;
	size_t len;
	int fd;

	(void)state;
	driver_start(&d, &rules, 0);
	driver_link_send(&d, &m, -1);
	assert_int_equal(driver_event(&d, &e), SESSION_STARTED);
	snprintf(path, sizeof(path), "/proc/%d/status", d.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_read_file(fd, 65536, &text, &len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		assert_non_null(strstr(text, lines[i]));
	if (geteuid() == 0) {
		assert_non_null(strstr(text, "Uid:\t64123\t64123\t64123\t64123"));
		assert_non_null(strstr(text, "Gid:\t64123\t64123\t64123\t64123"));
		assert_non_null(strstr(text, "Groups:\t \n"));
		assert_non_null(strstr(text, "CapBnd:\t0000000000000000"));
	}
	fd_close(fd);
	free(text);
	send_exit(&d, EXIT_KIND_SIGNAL, 9);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.kind, EXIT_KIND_SIGNAL);
	assert_clean_end(&d);
}

/* A session that pid 1 leaves without a word, or that control said why it ends. */
static void test_lost(void **state)
{
	struct driver d;
	union driver_event e;

	(void)state;
	driver_start(&d, &rules, 0);
	d.link = fd_close(d.link);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.kind, EXIT_KIND_LOST);
	assert_clean_end(&d);

	driver_start(&d, &rules, 0);
	driver_control_send(&d, SESSION_ENDING, EXIT_KIND_TIME, 0, -1);
	driver_control_send(&d, SESSION_SIGNAL, 0, 15, -1);
	driver_link_receive(&d, &(struct link_message){ 0 });
	d.link = fd_close(d.link);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.kind, EXIT_KIND_TIME);
	assert_clean_end(&d);
}

static void assert_link_ended(struct driver *d)
{
	char byte;
	ssize_t n = recv(d->link, &byte, 1, 0);

	/* Reset: something that we sent was not read any more. */
	assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
}

/* pid 1 leaves with our messages unread: what it said last must count. */
static void test_last_word(void **state)
{
	struct driver d;
	union driver_event e;

	(void)state;
	driver_start(&d, &rules, 0);
	driver_control_send(&d, SESSION_SIGNAL, 0, 15, -1);
	assert_int_equal(poll(&(struct pollfd){ .fd = d.link, .events = POLLIN }, 1, 60000), 1);
	send_exit(&d, EXIT_KIND_CODE, 5);
	d.link = fd_close(d.link);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.kind, EXIT_KIND_CODE);
	assert_int_equal(e.status.value, 5);
	assert_clean_end(&d);
}

static void test_control_gone(void **state)
{
	struct driver d;

	(void)state;
	driver_start(&d, &rules, 0);
	driver_listen(&d);
	d.control = fd_close(d.control);
	assert_link_ended(&d);
	assert_int_equal(driver_wait(&d), 0);
}

static void test_malformed(void **state)
{
	static const struct session_status bad[] = {
		{ .type = 0 },
		{ .type = SESSION_EXITED },
		{ .type = SESSION_ATTACH }, /* no descriptor */
		{ .type = SESSION_SIGNAL, .value = 65 },
		{ .type = SESSION_ENDING, .kind = EXIT_KIND_NONE },
	};
	struct driver d;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		driver_start(&d, &rules, 0);
		driver_control_send(&d, bad[i].type, bad[i].kind, bad[i].value, -1);
		assert_link_ended(&d);
		assert_int_equal(driver_wait(&d), 0);
	}
}

/* A terminal with a client: reads frames until EXIT, collects output. */
static void read_frames(int client, struct buffer *output, uint32_t *stopped, uint32_t exit[2])
{
	_cleanup_buffer_ struct buffer in = BUFFER_INIT(1 << 20);

	for (;;) {
		struct stream_frame f;
		long n = stream_parse((const uint8_t *)in.data, in.len, &f);
		ssize_t r;

		assert_true(n >= 0);
		if (n == 0) {
			assert_int_equal(buffer_reserve(&in, 65536), 0);
			r = read(client, in.data + in.len, 65536);
			assert_true(r > 0);
			in.len += (size_t)r;
			continue;
		}
		if (f.type == STREAM_STDOUT)
			assert_int_equal(buffer_append(output, f.payload, f.len), 0);
		if (f.type == STREAM_STOPPED)
			*stopped = stream_u32(f.payload);
		if (f.type == STREAM_EXIT) {
			exit[0] = stream_u32(f.payload);
			exit[1] = stream_u32(f.payload + 4);
			return;
		}
		buffer_consume(&in, (size_t)n);
	}
}

static void open_raw_pty(int *master, int *slave)
{
	struct termios t;

	assert_int_equal(openpty(master, slave, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(*slave, &t), 0);
	cfmakeraw(&t);
	assert_int_equal(tcsetattr(*slave, TCSANOW, &t), 0);
}

static void test_terminal(void **state)
{
	_cleanup_buffer_ struct buffer output = BUFFER_INIT(1 << 20), frames = BUFFER_INIT(1024);
	struct driver d;
	union driver_event e;
	struct link_message m = { .type = LINK_PTY };
	uint32_t stopped = 0, exit[2] = { 0 };
	int master, slave, pair[2];
	char got[16], byte;

	(void)state;
	driver_start(&d, &rules, SESSION_HAS_PTY);
	driver_listen(&d);
	open_raw_pty(&master, &slave);
	driver_link_send(&d, &m, master);
	fd_close(master);
	/* Output from before the client comes is kept. */
	assert_int_equal(write(slave, "early ", 6), 6);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	driver_control_send(&d, SESSION_ATTACH, 0, 40 << 16 | 100, pair[1]);
	fd_close(pair[1]);
	stream_append(&frames, STREAM_STDIN, "typed", 5);
	stream_append_u32(&frames, STREAM_SIGNAL, 2);
	stream_append(&frames, STREAM_CONTINUE, NULL, 0);
	assert_int_equal(write(pair[0], frames.data, frames.len), frames.len);
	assert_int_equal(read(slave, got, sizeof(got)), 5);
	assert_memory_equal(got, "typed", 5);
	driver_link_receive(&d, &m);
	assert_int_equal(m.type, LINK_SIGNAL);
	assert_int_equal(m.value, 2);
	driver_link_receive(&d, &m);
	assert_int_equal(m.type, LINK_CONTINUE);
	m = (struct link_message){ .type = LINK_STOPPED, .value = 20 };
	driver_link_send(&d, &m, -1);
	assert_int_equal(driver_event(&d, &e), SESSION_STOPPED);
	send_exit(&d, EXIT_KIND_CODE, 3);
	/* A survivor writes after the program's end: its words come before EXIT, too. */
	assert_int_equal(write(slave, "late", 4), 4);
	fd_close(slave);
	read_frames(pair[0], &output, &stopped, exit);
	assert_int_equal(output.len, 10);
	assert_memory_equal(output.data, "early late", 10);
	assert_int_equal(stopped, 20);
	assert_int_equal(exit[0], EXIT_KIND_CODE);
	assert_int_equal(exit[1], 3);
	assert_int_equal(read(pair[0], &byte, 1), 0);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_clean_end(&d);
	fd_close(pair[0]);
}

/* The program has ended before isod-control could hand its client over. */
static void test_late_client(void **state)
{
	_cleanup_buffer_ struct buffer output = BUFFER_INIT(1 << 20);
	struct driver d;
	union driver_event e;
	struct link_message m = { .type = LINK_PTY };
	uint32_t stopped = 0, exit[2] = { 0 };
	int master, slave, pair[2];

	(void)state;
	driver_start(&d, &rules, SESSION_HAS_PTY);
	open_raw_pty(&master, &slave);
	driver_link_send(&d, &m, master);
	fd_close(master);
	assert_int_equal(write(slave, "all", 3), 3);
	fd_close(slave);
	send_exit(&d, EXIT_KIND_CODE, 0);
	d.link = fd_close(d.link);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	driver_control_send(&d, SESSION_ATTACH, 0, 0, pair[1]);
	fd_close(pair[1]);
	read_frames(pair[0], &output, &stopped, exit);
	assert_int_equal(output.len, 3);
	assert_int_equal(exit[0], EXIT_KIND_CODE);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_clean_end(&d);
	fd_close(pair[0]);
}

static void test_client_dies(void **state)
{
	struct driver d;
	union driver_event e;
	struct link_message m = { .type = LINK_PTY };
	int master, slave, pair[2];
	char byte;

	(void)state;
	driver_start(&d, &rules, SESSION_HAS_PTY);
	open_raw_pty(&master, &slave);
	driver_link_send(&d, &m, master);
	fd_close(master);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	driver_control_send(&d, SESSION_ATTACH, 0, 0, pair[1]);
	fd_close(pair[1]);
	fd_close(pair[0]);
	driver_link_receive(&d, &m);
	assert_int_equal(m.type, LINK_HANGUP);
	assert_true(read(slave, &byte, 1) <= 0);
	fd_close(slave);
	send_exit(&d, EXIT_KIND_SIGNAL, 1);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_int_equal(e.status.value, 1);
	assert_clean_end(&d);
}

/* Sealed memory with the rules in their wire form, of which `cut` bytes at the end are missing. */
static int rules_fd(const struct egress_rules *from, size_t cut)
{
	_cleanup_buffer_ struct buffer wire = BUFFER_INIT(LIMIT_EGRESS);
	int fd;

	assert_int_equal(egress_encode(from, &wire), 0);
	fd = fd_sealed_new("rules", wire.data, wire.len - cut);
	assert_true(fd >= 0);
	return fd;
}

static void ask_proxy(const struct driver *d, const char *request, char *ret, size_t size)
{
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;
	ssize_t n = 0;

	assert_int_equal(
		connect(s, (const struct sockaddr *)&d->address[LISTENER_PROXY_V4], sizeof(struct sockaddr_in)), 0);
	assert_int_equal(send(s, request, strlen(request), 0), strlen(request));
	while (len + 1 < size && (n = recv(s, ret + len, size - 1 - len, 0)) > 0)
		len += (size_t)n;
	ret[len] = '\0';
	close(s);
}

/* Rules that are sent hold from their answer on; what they refuse is told with their number and index. */
static void test_new_rules(void **state)
{
	static const char request[] = "GET http://api.example.org:81/ HTTP/1.1\r\nHost: api.example.org:81\r\n"
				      "Connection: close\r\n\r\n";
	static struct egress_rule denying[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "other.example" },
		{ .kind = EGRESS_RULE_HOST, .name = "api.example.org", .deny = 1 },
	};
	const struct egress_rules next = { .rules = denying, .n_rules = 2 };
	struct driver d;
	union driver_event e;
	char answer[4096];
	int fd;

	(void)state;
	driver_start(&d, &rules, 0);
	driver_listen(&d);
	ask_proxy(&d, request, answer, sizeof(answer));
	assert_non_null(strstr(answer, "port"));
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.reason, EGRESS_PORT);
	assert_int_equal(e.connection.generation, 0);
	fd = rules_fd(&next, 0);
	driver_control_send(&d, SESSION_RULES, 0, 1, fd);
	fd_close(fd);
	assert_int_equal(driver_event(&d, &e), SESSION_RULES_DONE);
	assert_int_equal(e.status.value, 1);
	assert_int_equal(e.status.kind, 0);
	ask_proxy(&d, request, answer, sizeof(answer));
	assert_int_equal(driver_event(&d, &e), SESSION_CONNECTION);
	assert_int_equal(e.connection.reason, EGRESS_DENIED);
	assert_int_equal(e.connection.generation, 1);
	assert_int_equal(e.connection.rule, 1);
	send_exit(&d, EXIT_KIND_CODE, 0);
	assert_int_equal(driver_event(&d, &e), SESSION_EXITED);
	assert_clean_end(&d);
}

/* Rules that cannot be read, no descriptor, the number of the start: the session ends, as for any malformed order. */
static void test_malformed_rules(void **state)
{
	static const struct {
		int32_t generation;
		size_t cut;
		bool none;
	} orders[] = { { 1, 1, false }, { 0, 0, false }, { -1, 0, false }, { 1, 0, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct driver d;
		int fd = orders[i].none ? -1 : rules_fd(&rules, orders[i].cut);

		driver_start(&d, &rules, 0);
		driver_control_send(&d, SESSION_RULES, 0, orders[i].generation, fd);
		fd_close(fd);
		assert_link_ended(&d);
		driver_wait(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life_without_pty),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_last_word),
		cmocka_unit_test(test_control_gone),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_new_rules),
		cmocka_unit_test(test_malformed_rules),
		cmocka_unit_test(test_terminal),
		cmocka_unit_test(test_late_client),
		cmocka_unit_test(test_client_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
