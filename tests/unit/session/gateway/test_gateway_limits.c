/* Byte budgets, numbers of connections, and what may be silent, in a whole gateway. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/rate.h"
#include "gateway_rig_limits.h"

enum { LARGE = 3 << 20 };

static int raw22, ok80, a80;
static char data[LARGE];

static struct egress_budget raw_out = {
	.host = { .kind = EGRESS_RULE_HOST, .name = "raw.example", .deny = 1 },
};

static unsigned budget(uint64_t out, uint64_t in)
{
	const struct rig_change change = { .budgets = &raw_out, .n_budgets = 1 };

	raw_out.bytes[EGRESS_OUT] = out;
	raw_out.bytes[EGRESS_IN] = in;
	return rig_change(&change);
}

static void limits(const struct egress_limits *l)
{
	const struct rig_change change = { .limits = *l };

	rig_change(&change);
}

/* Each test begins with accounts that have used nothing, and nothing that earlier ones have repeated is told later. */
static int fresh(void **state)
{
	rig_stop();
	rig_start();
	return rig_forget(state);
}

static int tunnel(int *ret_upstream)
{
	int c = rig_proxy();

	rig_send_text(c, "CONNECT raw.example:22 HTTP/1.1\r\n\r\n");
	rig_expect(c, " 200 ");
	*ret_upstream = rig_accept(raw22);
	return c;
}

static const char *refused(const char *request, const char *code)
{
	int c = rig_proxy();
	const char *got;
	bool reset;

	rig_send_text(c, request);
	rig_read_end(c, &got, &reset);
	close(c);
	assert_non_null(strstr(got, code));
	return got;
}

/* By far more is sent than the budget has; as many bytes arrive as it has, whether they were copied or spliced. */
static void bytes_out(uint64_t limit)
{
	struct session_connection e;
	const char *got;
	bool reset;
	int u, c, other, other_u;
	pid_t sender;

	budget(limit, 0);
	other = tunnel(&other_u);
	c = tunnel(&u);
	sender = fork();
	if (sender == 0) {
		for (size_t done = 0; done < LARGE;) {
			ssize_t n = send(c, data + done, LARGE - done, MSG_NOSIGNAL);

			if (n <= 0)
				break;
			done += (size_t)n;
		}
		_exit(0);
	}
	assert_int_equal(rig_read_end(u, &got, &reset), limit);
	assert_memory_equal(got, data, limit);
	/* It draws from the same account, and has said nothing. */
	assert_int_equal(rig_read_end(other_u, &got, &reset), 0);
	assert_int_equal(waitpid(sender, NULL, 0), sender);
	for (int i = 0; i < 2; i++) {
		e = rig_event();
		assert_int_equal(e.reason, EGRESS_BUDGET);
		assert_false(e.allowed);
		assert_int_equal(e.bytes_up, e.bytes_up == 0 ? 0 : limit);
	}
	close(c);
	close(u);
	close(other);
	close(other_u);
	assert_int_equal(rig_exceeded().account, 1);
	assert_int_equal(rig_exceeded().direction, EGRESS_OUT);
	assert_int_equal(rig_exceeded().limit, limit);
	refused("CONNECT raw.example:22 HTTP/1.1\r\n\r\n", "403 Forbidden (isod: budget)");
	/* Others have nothing to do with it. */
	c = rig_proxy();
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	close(rig_accept(ok80));
	close(c);
}

static void test_copied_bytes(void **state)
{
	unsigned before = rig_exceeded().count;

	bytes_out(1000);
	assert_int_equal(rig_exceeded().count, before + 1);
}

static void test_spliced_bytes(void **state)
{
	bytes_out((1 << 20) + 12345);
}

/* The last byte of a budget passes, and its answer; only one more is too much. */
static void test_to_the_last_byte(void **state)
{
	const char *got;
	bool reset;
	int u, c;

	budget(5, 0);
	c = tunnel(&u);
	rig_send_text(c, "\x01"
			 "2345");
	assert_string_equal(rig_expect(u, "2345"), "\x01"
						   "2345");
	rig_send_text(u, "answer");
	rig_expect(c, "answer");
	refused("CONNECT raw.example:22 HTTP/1.1\r\n\r\n", "isod: budget");
	shutdown(c, SHUT_WR);
	assert_int_equal(rig_read_end(u, &got, &reset), 0);
	close(u);
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_BUDGET);
	assert_int_equal(rig_event().reason, EGRESS_ALLOWED);
}

static void test_bytes_in(void **state)
{
	const char *got;
	bool reset;
	int u, c;

	budget(0, 1000);
	c = tunnel(&u);
	rig_send(u, data, 5000);
	assert_int_equal(rig_read_end(c, &got, &reset), 1000);
	assert_int_equal(rig_event().bytes_down, 1000);
	assert_int_equal(rig_exceeded().direction, EGRESS_IN);
	close(c);
	close(u);
}

/* A request that is too large is answered before anything of it goes out. */
static void test_a_request(void **state)
{
	static struct egress_budget ok = { .host = { .kind = EGRESS_RULE_HOST, .name = "ok.example", .deny = 1 },
					   .bytes = { 100, 0 } };
	const struct rig_change change = { .budgets = &ok, .n_budgets = 1 };
	char request[512];
	int c, u;

	rig_change(&change);
	c = rig_proxy();
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	u = rig_accept(ok80);
	rig_expect(u, "\r\n\r\n");
	rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	rig_expect(c, "hi");
	/* On the same connections: nothing new is opened for it. */
	snprintf(request, sizeof(request), "GET http://ok.example/%0200d HTTP/1.1\r\nHost: ok.example\r\n\r\n", 1);
	rig_send_text(c, request);
	rig_expect(c, "403 Forbidden (isod: budget)");
	assert_int_equal(recv(u, request, sizeof(request), 0), 0);
	close(c);
	close(u);
	assert_int_equal(rig_event().reason, EGRESS_ALLOWED);
	assert_int_equal(rig_event().reason, EGRESS_BUDGET);
}

/* At once, for what is open, too; and more bytes open it again. */
static void test_new_budgets(void **state)
{
	const char *got;
	bool reset;
	int u, c;

	assert_int_equal(budget(1000, 0), 0);
	c = tunnel(&u);
	rig_send(c, data, 100);
	rig_read(u, data, 100);
	assert_int_equal(budget(100, 0), 0);
	assert_int_equal(budget(99, 0), 1);
	assert_int_equal(rig_read_end(u, &got, &reset), 0);
	close(c);
	close(u);
	assert_int_equal(rig_event().reason, EGRESS_BUDGET);
	assert_int_equal(rig_usage().n, 2);
	assert_int_equal(rig_usage().bytes[1][EGRESS_OUT], 100);
	refused("CONNECT raw.example:22 HTTP/1.1\r\n\r\n", "isod: budget");
	budget(101, 0);
	c = tunnel(&u);
	close(c);
	close(u);
}

static void test_open_at_a_time(void **state)
{
	int c, u, other;

	limits(&(struct egress_limits){ .host_connections = 1 });
	c = tunnel(&u);
	assert_non_null(
		strstr(refused("CONNECT raw.example:22 HTTP/1.1\r\n\r\n", "503 Service Unavailable (isod: limit)"),
		       "Retry-After: 1\r\n"));
	/* Another host, and this one once it is free. */
	other = rig_proxy();
	rig_send_text(other, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	close(rig_accept(ok80));
	close(other);
	close(u);
	close(c);
	assert_int_equal(rig_event().reason, EGRESS_LIMIT);
	rig_event();
	rig_event();
	c = tunnel(&u);
	limits(&(struct egress_limits){ .connections = 1 });
	refused("", "isod: limit");
	close(c);
	close(u);
}

static void test_new_ones_in_a_second(void **state)
{
	int c, u;

	limits(&(struct egress_limits){ .host_per_second = 2 });
	for (int i = 0; i < 2; i++) {
		c = tunnel(&u);
		close(c);
		close(u);
	}
	assert_non_null(strstr(refused("CONNECT raw.example:22 HTTP/1.1\r\n\r\n", "429 Too Many Requests (isod: rate)"),
			       "Retry-After: 1\r\nX-Isod-Retry: later"));
	rig_tick(RATE_SECOND / 2);
	c = tunnel(&u);
	close(c);
	close(u);
}

/* One client that asks for many hosts in turn has no more of them than many clients. */
static void test_of_one_client(void **state)
{
	int c, u;

	limits(&(struct egress_limits){ .per_second = 2 });
	c = rig_proxy();
	for (int i = 0; i < 2; i++) {
		rig_send_text(c, i ? "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n"
				   : "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
		u = rig_accept(i ? a80 : ok80);
		rig_send_text(u, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
		rig_expect(c, "hi");
		close(u);
	}
	rig_send_text(c, "GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	rig_expect(c, "429 Too Many Requests (isod: rate)");
	close(c);
}

/* A flood is one line and a number. */
static void test_a_flood_in_the_log(void **state)
{
	enum { FLOOD = 100 };
	struct session_connection e;

	limits(&(struct egress_limits){ .per_second = 1 });
	for (int i = 0; i < FLOOD; i++) {
		const char *got;
		bool reset;
		int c = rig_captured("raw.example", 22);

		if (i > 0)
			rig_read_end(c, &got, &reset);
		else
			close(rig_accept(raw22));
		close(c);
	}
	assert_int_equal(rig_event().reason, EGRESS_ALLOWED);
	e = rig_event();
	assert_int_equal(e.reason, EGRESS_RATE);
	assert_int_equal(e.count, 1);
	assert_true(rig_no_event());
	rig_stop();
	e = rig_event();
	assert_int_equal(e.reason, EGRESS_RATE);
	assert_int_equal(e.count, FLOOD - 2);
	assert_true(rig_no_event());
	rig_start();
}

/* Silence ends what is half closed and what was never used. A tunnel and a long poll that began before them stay. */
static void test_what_may_be_silent(void **state)
{
	const struct rig_change change = { .idle = 50 };
	struct session_connection e;
	const char *got;
	bool reset;
	int live, live_u, poll, poll_u, half, half_u, unused, unused_u;

	rig_change(&change);
	live = tunnel(&live_u);
	rig_send_text(live, "\x01hello");
	rig_expect(live_u, "hello");
	poll = rig_captured("ok.example", 80);
	rig_send_text(poll, "GET /events HTTP/1.1\r\nHost: ok.example\r\n\r\n");
	poll_u = rig_accept(ok80);
	rig_expect(poll_u, "\r\n\r\n");
	unused = tunnel(&unused_u);
	half = tunnel(&half_u);
	rig_send_text(half, "\x01hello");
	rig_expect(half_u, "hello");
	shutdown(half, SHUT_WR);
	assert_int_equal(rig_read_end(half, &got, &reset), 0);
	assert_int_equal(rig_read_end(unused, &got, &reset), 0);
	for (int i = 0; i < 2; i++) {
		e = rig_event();
		assert_true(e.allowed && e.port == 22);
	}
	rig_send_text(live_u, "still there");
	rig_expect(live, "still there");
	rig_send_text(poll_u, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n");
	rig_expect(poll, "data: 1");
	/* Between two events of the stream as well. */
	close(half);
	half = tunnel(&half_u);
	rig_send_text(half, "\x01hello");
	rig_expect(half_u, "hello");
	shutdown(half, SHUT_WR);
	rig_read_end(half, &got, &reset);
	rig_send_text(poll_u, "data: 2\n\n");
	rig_expect(poll, "data: 2");
	close(live);
	close(poll);
	close(unused);
	close(half);
	close(live_u);
	close(poll_u);
	close(unused_u);
	close(half_u);
	rig_stop();
	rig_start();
}

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)('a' + i % 23);
	rig_start();
	raw22 = rig_listen("127.0.0.5", 22);
	ok80 = rig_listen("127.0.0.2", 80);
	a80 = rig_listen("127.0.0.3", 80);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_copied_bytes, fresh),
		cmocka_unit_test_setup(test_spliced_bytes, fresh),
		cmocka_unit_test_setup(test_to_the_last_byte, fresh),
		cmocka_unit_test_setup(test_bytes_in, fresh),
		cmocka_unit_test_setup(test_a_request, fresh),
		cmocka_unit_test_setup(test_new_budgets, fresh),
		cmocka_unit_test_setup(test_open_at_a_time, fresh),
		cmocka_unit_test_setup(test_new_ones_in_a_second, fresh),
		cmocka_unit_test_setup(test_of_one_client, fresh),
		cmocka_unit_test_setup(test_a_flood_in_the_log, fresh),
		cmocka_unit_test_setup(test_what_may_be_silent, fresh),
	};

	if (!rig_namespace()) {
		fputs("needs a network namespace of its own\n", stderr);
		return 1;
	}
	return cmocka_run_group_tests(tests, setup, teardown);
}
