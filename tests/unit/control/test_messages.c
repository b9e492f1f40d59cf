/* What a stranger may send on the socket. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server.h"

static void expect_works(struct server *s, int client)
{
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;

	server_call(s, client, "{\"method\":\"org.isod.Status\"}", NULL, 0);
	doc = server_reply(s, client);
	assert_non_null(doc.root);
	assert_non_null(json_get(json_get(doc.root, "parameters"), "version"));
}

static void test_malformed_messages(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
#define TEXT(t) { t, sizeof(t) }
		TEXT("not json"),
		TEXT(""),
		TEXT("[]"),
		TEXT("{}"),
		TEXT("{\"method\":5}"),
		TEXT("{\"method\":\"org.isod.Status\",\"method\":\"org.isod.Status\"}"),
		TEXT("{\"method\":\"org.isod.Status\"} x"),
		TEXT("{\"method\":\"org.isod.Status\",\"x\":1}"),
		TEXT("{\"method\":\"\xff\"}"),
		TEXT("{\"method\":\"org.isod.\\u0000Status\"}"),
#undef TEXT
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_close_ int client = server_connect(*state, 1000);

		server_send(*state, client, bad[i].text, bad[i].len, NULL, 0);
		server_expect_error(*state, client, "org.isod.Invalid");
		server_expect_closed(*state, client);
		server_isod_expect(*state, CONTROL_PEER_DONE);
	}
}

static void test_parameters(void **state)
{
	static const char *const bad[] = {
		"{\"method\":\"org.isod.List\"}",
		"{\"method\":\"org.isod.List\",\"parameters\":{\"all\":\"yes\"}}",
		"{\"method\":\"org.isod.List\",\"parameters\":{\"all\":true,\"x\":1}}",
		"{\"method\":\"org.isod.List\",\"upgrade\":true,\"parameters\":{\"all\":true}}",
		"{\"method\":\"org.isod.Log\",\"parameters\":{\"session\":\"x\",\"follow\":true}}",
		"{\"method\":\"org.isod.Kill\",\"parameters\":{\"session\":\"x\",\"signal\":-1}}",
	};
	_cleanup_close_ int client = server_connect(*state, 1000);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		server_call(*state, client, bad[i], NULL, 0);
		server_expect_error(*state, client, "org.isod.Invalid");
	}
	expect_works(*state, client);
}

static void test_unknown_methods(void **state)
{
	static const struct {
		const char *method, *error;
	} calls[] = {
		{ "{\"method\":\"org.isod.NoSuch\"}", "org.varlink.service.MethodNotFound" },
		{ "{\"method\":\"nodots\"}", "org.varlink.service.InterfaceNotFound" },
		{ "{\"method\":\"no.such.Method\"}", "org.varlink.service.InterfaceNotFound" },
		{ "{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":{\"interface\":\"x\"}}",
		  "org.varlink.service.InterfaceNotFound" },
	};
	_cleanup_close_ int client = server_connect(*state, 1000);

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		server_call(*state, client, calls[i].method, NULL, 0);
		server_expect_error(*state, client, calls[i].error);
	}
	expect_works(*state, client);
}

static void test_byte_by_byte(void **state)
{
	static const char call[] = "{\"method\":\"org.isod.Status\"}";
	_cleanup_close_ int client = server_connect(*state, 1000);
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;

	for (size_t i = 0; i < sizeof(call); i++) {
		server_send(*state, client, call + i, 1, NULL, 0);
		server_turn(*state);
	}
	doc = server_reply(*state, client);
	assert_non_null(doc.root);
}

static void test_pipelined(void **state)
{
	static const char calls[] = "{\"method\":\"org.isod.Status\"}\0"
				    "{\"method\":\"org.isod.List\",\"parameters\":{\"all\":false}}\0"
				    "{\"method\":\"org.isod.Status\",\"oneway\":true}\0"
				    "{\"method\":\"org.isod.Status\"}";
	static const char *const members[] = { "version", "sessions", "version" };
	_cleanup_close_ int client = server_connect(*state, 1000);

	server_send(*state, client, calls, sizeof(calls), NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_non_null(doc.root);
		assert_non_null(json_get(json_get(doc.root, "parameters"), members[i]));
	}
	/* Replies are owed even to a client that has ended its own side. */
	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", NULL, 0);
	shutdown(client, SHUT_WR);
	{
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_non_null(doc.root);
	}
	server_expect_closed(*state, client);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_descriptors_where_none_belong(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[12], before = count_descriptors();

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = null;
	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", fds, 3);
	server_expect_error(*state, client, "org.isod.Invalid");
	expect_works(*state, client);
	assert_int_equal(count_descriptors(), before);
	/* More than a message may bring, in one piece and in several. */
	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", fds, 12);
	server_expect_error(*state, client, "org.isod.Invalid");
	server_expect_closed(*state, client);
	{
		_cleanup_close_ int second = server_connect(*state, 1000);

		server_send(*state, second, "{", 1, fds, 6);
		server_send(*state, second, "{", 1, fds, 6);
		server_expect_error(*state, second, "org.isod.Invalid");
		server_expect_closed(*state, second);
	}
	server_turn(*state);
	assert_int_equal(count_descriptors(), before - 1);
}

/* Descriptors belong to the message that they came with, not to one that is still waiting before it. */
static void test_descriptors_of_the_second_message(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_json_ struct json_document first = JSON_DOCUMENT_INIT;
	int fds[3] = { null, null, null };

	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", NULL, 0);
	server_call(*state, client, "{\"method\":\"org.isod.List\",\"parameters\":{\"all\":true}}", fds, 3);
	first = server_reply(*state, client);
	assert_null(json_get(first.root, "error"));
	server_expect_error(*state, client, "org.isod.Invalid");
}

static void test_too_long(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000);
	_cleanup_free_ char *text = malloc(LIMIT_MESSAGE + 1);

	memset(text, 'x', LIMIT_MESSAGE + 1);
	server_send(*state, client, text, LIMIT_MESSAGE + 1, NULL, 0);
	server_expect_error(*state, client, "org.isod.LimitExceeded");
	server_expect_closed(*state, client);
}

/* Many large messages begun and never ended: the later ones are refused, other users are not. */
static void test_unfinished_messages_are_bounded(void **state)
{
	struct server *s = *state;
	_cleanup_free_ char *text = malloc(LIMIT_MESSAGE - 1);
	_cleanup_close_ int other = server_connect(s, 1001);
	int clients[16];
	struct connection *c;
	size_t held = 0;

	memset(text, 'x', LIMIT_MESSAGE - 1);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		clients[i] = server_connect(s, 1000);
		server_send(s, clients[i], text, LIMIT_MESSAGE - 1, NULL, 0);
		server_turn(s);
	}
	server_expect_error(s, clients[ARRAY_SIZE(clients) - 1], "org.isod.LimitExceeded");
	LIST_FOREACH (c, &s->control.connections, entry)
		held += c->in.size;
	assert_true(held <= LIMIT_INPUT_PER_UID + LIMIT_MESSAGE);
	expect_works(s, other);
	for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
		close(clients[i]);
}

/* A client that asks and never reads costs a bounded queue, and nobody else waits. */
static void test_client_that_never_reads(void **state)
{
	static const char call[] = "{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":"
				   "{\"interface\":\"org.isod\"}}";
	_cleanup_close_ int client = server_connect(*state, 1000), other = server_connect(*state, 1001);
	struct connection *c;

	/* It may go on sending for a while, though nothing is answered any more. */
	for (int i = 0; i < 500; i++) {
		assert_int_equal(send(client, call, sizeof(call), MSG_NOSIGNAL), sizeof(call));
		server_turn(*state);
	}
	expect_works(*state, other);
	LIST_FOREACH (c, &((struct server *)*state)->control.connections, entry)
		assert_true(c->out.len < 1U << 20);
}

static void test_introspection(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000);
	_cleanup_json_ struct json_document info = JSON_DOCUMENT_INIT, text = JSON_DOCUMENT_INIT;

	server_call(*state, client, "{\"method\":\"org.varlink.service.GetInfo\"}", NULL, 0);
	info = server_reply(*state, client);
	assert_int_equal(json_get(json_get(info.root, "parameters"), "interfaces")->array.count, 2);
	server_call(*state, client,
		    "{\"method\":\"org.varlink.service.GetInterfaceDescription\",\"parameters\":"
		    "{\"interface\":\"org.isod\"}}",
		    NULL, 0);
	text = server_reply(*state, client);
	assert_non_null(strstr(text_at(text.root, "parameters", "description"), "interface org.isod"));
}

/* isod itself is believed, but a message that does not fit ends the channel. */
static void test_bad_message_of_isod(void **state)
{
	struct server *s = *state;
	struct control_message m = { .type = CONTROL_SESSION_ENDED };

	strcpy(m.id, "0123456789ab");
	server_isod_send(s, &m, -1);
	server_turn(s);
	assert_true(s->control.monitor.failed < 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
		TEST(test_malformed_messages),
		TEST(test_parameters),
		TEST(test_unknown_methods),
		TEST(test_byte_by_byte),
		TEST(test_pipelined),
		TEST(test_descriptors_where_none_belong),
		TEST(test_descriptors_of_the_second_message),
		TEST(test_too_long),
		TEST(test_unfinished_messages_are_bounded),
		TEST(test_client_that_never_reads),
		TEST(test_introspection),
		TEST(test_bad_message_of_isod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
