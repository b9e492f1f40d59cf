#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/connection.h"
#include "client/report.h"
#include "client/signal_name.h"

struct pair {
	struct connection client;
	int server;
	struct json_document doc;
	struct varlink_reply reply;
	struct error e;
};

static int set_up(void **state)
{
	static struct pair p;
	int ends[2];

	p = (struct pair){ .client = CONNECTION_INIT };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	p.client.fd = ends[0];
	p.server = ends[1];
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	json_document_done(&p->doc);
	connection_done(&p->client);
	close(p->server);
	return 0;
}

static void say(struct pair *p, const char *text, size_t len)
{
	assert_int_equal(write(p->server, text, len), len);
}

static int next(struct pair *p)
{
	json_document_done(&p->doc);
	p->doc = (struct json_document)JSON_DOCUMENT_INIT;
	return connection_wait(&p->client, 1000, &p->doc, &p->reply, &p->e);
}

#define SAY(p, text) say(p, text, sizeof(text))

static void test_two_replies_in_one_read(void **state)
{
	struct pair *p = *state;

	say(p, "{\"parameters\":{\"a\":1},\"continues\":true}\0{\"parameters\":{\"a\":2}}\0raw",
	    sizeof("{\"parameters\":{\"a\":1},\"continues\":true}") + sizeof("{\"parameters\":{\"a\":2}}") + 3);
	assert_int_equal(next(p), 0);
	assert_true(p->reply.continues);
	assert_int_equal(json_get(p->reply.parameters, "a")->integer, 1);
	assert_int_equal(next(p), 0);
	assert_false(p->reply.continues);
	assert_int_equal(json_get(p->reply.parameters, "a")->integer, 2);
	/* What follows an upgraded call's reply is kept. */
	assert_int_equal(p->client.in.len, 3);
}

static void test_lost_and_late(void **state)
{
	struct pair *p = *state;

	assert_int_equal(connection_wait(&p->client, 1, &p->doc, &p->reply, &p->e), -ETIMEDOUT);
	p->e = (struct error)ERROR_INIT;
	say(p, "{\"half", 6);
	shutdown(p->server, SHUT_WR);
	assert_int_equal(next(p), -ECONNRESET);
	assert_string_equal(p->e.message, "isod closed the connection.");
}

static void test_nonsense(void **state)
{
	struct pair *p = *state;

	SAY(p, "[]");
	assert_true(next(p) < 0);
	assert_int_not_equal(p->e.code, ERROR_NONE);
}

static int check(struct pair *p)
{
	p->e = (struct error)ERROR_INIT;
	assert_int_equal(next(p), 0);
	return connection_check(&p->reply, &p->e);
}

static void test_errors(void **state)
{
	struct pair *p = *state;

	SAY(p, "{\"parameters\":{}}");
	assert_int_equal(check(p), 0);
	SAY(p, "{\"error\":\"org.isod.CommandNotFound\",\"parameters\":{\"step\":\"exec\",\"message\":\"No x.\","
	       "\"remedy\":\"\",\"errno\":2}}");
	assert_int_equal(check(p), -ENOENT);
	assert_string_equal(p->e.message, "No x.");
	assert_int_equal(report_run_code(&p->e), 127);
	SAY(p, "{\"error\":\"org.varlink.service.MethodNotFound\",\"parameters\":{\"method\":\"org.isod.X\"}}");
	assert_int_equal(check(p), -EPROTO);
	assert_non_null(strstr(p->e.remedy, "different versions"));
	SAY(p, "{\"error\":\"com.example.Strange\",\"parameters\":{}}");
	assert_true(check(p) < 0);
	assert_int_not_equal(p->e.code, ERROR_NONE);
	assert_int_equal(report_run_code(&p->e), 125);
}

static void test_open_errors(void **state)
{
	struct connection c = CONNECTION_INIT;
	struct error e = ERROR_INIT;
	char path[5000];

	assert_int_equal(connection_open("/no/such/socket", &c, &e), -ENOENT);
	assert_string_equal(e.step, "connect");
	assert_true(e.remedy[0] != '\0');
	e = (struct error)ERROR_INIT;
	assert_int_equal(connection_open("/dev/null", &c, &e), -ECONNREFUSED);
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(connection_open(path, &c, &e), -ENAMETOOLONG);
	path[0] = '/';
	path[200] = '/';
	path[210] = '\0';
	assert_int_equal(connection_open(path, &c, &e), -ENOENT);
	assert_int_equal(c.fd, -1);
}

static void test_signal_names(void **state)
{
	assert_int_equal(signal_name_parse("TERM"), 15);
	assert_int_equal(signal_name_parse("sigint"), 2);
	assert_int_equal(signal_name_parse("9"), 9);
	assert_true(signal_name_parse("0") < 0);
	assert_true(signal_name_parse("-1") < 0);
	assert_true(signal_name_parse("") < 0);
	assert_true(signal_name_parse("SIG") < 0);
	assert_true(signal_name_parse("TERM ") < 0);
	assert_true(signal_name_parse("1000") < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_two_replies_in_one_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_and_late, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
		cmocka_unit_test(test_open_errors),
		cmocka_unit_test(test_signal_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
