/* Sessions from the request to the history: the test is isod, the helper and the client. */
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/control/session.h"
#include "server.h"

static void send_status(int helper, uint32_t type, uint32_t kind, int32_t value)
{
	struct session_status m = { .type = type, .kind = kind, .value = value };

	assert_int_equal(send(helper, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
}

static void expect_ending(int helper, uint32_t kind, int32_t value)
{
	struct session_status m;

	assert_int_equal(recv(helper, &m, sizeof(m), MSG_DONTWAIT), sizeof(m));
	assert_int_equal(m.type, SESSION_ENDING);
	assert_int_equal(m.kind, kind);
	assert_int_equal(m.value, value);
}

static void send_ended(struct server *s, const char *id)
{
	struct control_message m = { .type = CONTROL_SESSION_ENDED, .kind = EXIT_KIND_LOST };

	memcpy(m.id, id, ISOD_ID_LEN);
	server_isod_send(s, &m, -1);
	server_turn(s);
}

/* Calls method for session with parameters {"session": id, more} as uid. */
static struct json_document ask(struct server *s, uint32_t uid, const char *method, const char *id, const char *more)
{
	_cleanup_close_ int client = server_connect(s, uid);
	char call[512];

	snprintf(call, sizeof(call), "{\"method\":\"org.isod.%s\",\"more\":true,\"parameters\":{\"session\":\"%s\"%s}}",
		 method, id, more);
	server_call(s, client, call, NULL, 0);
	return server_reply(s, client);
}

static size_t count_sessions(struct server *s, uint32_t uid, bool all)
{
	_cleanup_close_ int client = server_connect(s, uid);
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;

	server_call(s, client,
		    all ? "{\"method\":\"org.isod.List\",\"parameters\":{\"all\":true}}"
			: "{\"method\":\"org.isod.List\",\"parameters\":{\"all\":false}}",
		    NULL, 0);
	doc = server_reply(s, client);
	return json_get(json_get(doc.root, "parameters"), "sessions")->array.count;
}

static int64_t exit_of(const struct json_document *doc)
{
	const struct json_value *session = json_get(json_get(doc->root, "parameters"), "session");

	return json_get(session, "exit")->integer;
}

/* All lines of a session's log, each parsed; the caller frees. Returns how many. */
static size_t read_log(struct server *s, uint32_t uid, const char *id, struct json_document *lines, size_t max)
{
	_cleanup_close_ int client = server_connect(s, uid);
	bool more = true;
	char call[256];
	size_t n = 0;

	snprintf(call, sizeof(call),
		 "{\"method\":\"org.isod.Log\",\"more\":true,\"parameters\":{\"session\":\"%s\",\"follow\":false}}",
		 id);
	server_call(s, client, call, NULL, 0);
	while (more && n < max) {
		_cleanup_json_ struct json_document doc = server_reply(s, client);
		const struct json_value *continues = json_get(doc.root, "continues");
		const char *line;

		assert_non_null(doc.root);
		line = text_at(doc.root, "parameters", "line");
		assert_int_equal(json_read(line, strlen(line), 0, &lines[n++], NULL), 0);
		more = continues && continues->boolean;
	}
	return n;
}

static void test_run_to_its_exit(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);
	struct json_document lines[8] = { 0 };
	size_t n;

	assert_int_equal(count_sessions(*state, 1000, false), 1);
	send_status(helper, SESSION_STARTED, 0, 2);
	send_status(helper, SESSION_EXITED, EXIT_KIND_CODE, 7);
	{
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_string_equal(text_at(doc.root, "parameters", "event"), "exited");
		assert_int_equal(exit_of(&doc), 7);
	}
	send_ended(*state, id);
	assert_int_equal(count_sessions(*state, 1000, false), 0);
	assert_int_equal(count_sessions(*state, 1000, true), 1);
	n = read_log(*state, 1000, id, lines, 8);
	assert_int_equal(n, 2);
	assert_string_equal(text_at(lines[0].root, "event", NULL), "session.start");
	assert_string_equal(json_get(lines[0].root, "argv")->array.items[1].string.data, "a\nb");
	assert_int_equal(json_get(lines[0].root, "uid")->integer, 1000);
	assert_string_equal(text_at(lines[1].root, "event", NULL), "session.exit");
	assert_int_equal(json_get(lines[1].root, "exit")->integer, 7);
	while (n > 0)
		json_document_done(&lines[--n]);
}

static void test_start_that_fails(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct control_message m;
	int fds[3] = { null, null, null };

	server_call(*state, client, SERVER_RUN(""), fds, 3);
	m = server_isod_expect(*state, CONTROL_START);
	m.type = CONTROL_SESSION_FAILED;
	error_set(&m.error, ERROR_NOT_FOUND, 2, "exec", "", "There is no command of this name in the view.");
	server_isod_send(*state, &m, -1);
	server_expect_error(*state, client, "org.isod.CommandNotFound");
	assert_int_equal(count_sessions(*state, 1000, true), 0);
	/* The connection can be used again. */
	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", NULL, 0);
	{
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_non_null(json_get(json_get(doc.root, "parameters"), "version"));
	}
}

static void test_hang_up_ends_the_session(void **state)
{
	char id[ISOD_ID_LEN + 1];
	int client;
	_cleanup_close_ int helper = server_start_session(*state, 1000, "", &client, id);

	assert_true(helper >= 0);
	close(client);
	assert_string_equal(server_isod_expect(*state, CONTROL_KILL).id, id);
	server_isod_expect(*state, CONTROL_PEER_DONE);
	send_ended(*state, id);
	{
		_cleanup_json_ struct json_document doc = ask(*state, 1000, "Show", id, "");

		assert_int_equal(exit_of(&doc), 128 + SIGKILL);
	}
}

static void test_hang_up_while_it_starts(void **state)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int client = server_connect(*state, 1000), fds[3] = { null, null, null };
	struct control_message m;

	server_call(*state, client, SERVER_RUN(""), fds, 3);
	m = server_isod_expect(*state, CONTROL_START);
	close(client);
	assert_string_equal(server_isod_expect(*state, CONTROL_KILL).id, m.id);
	m.type = CONTROL_SESSION_FAILED;
	server_isod_send(*state, &m, -1);
	server_turn(*state);
	assert_int_equal(count_sessions(*state, 1000, false), 0);
}

static void test_kill(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, ",\"name\":\"w\"", &client, id);
	struct session_status m;

	{
		_cleanup_json_ struct json_document doc = ask(*state, 1000, "Kill", "w", ",\"signal\":10");

		assert_null(json_get(doc.root, "error"));
	}
	assert_int_equal(recv(helper, &m, sizeof(m), MSG_DONTWAIT), sizeof(m));
	assert_int_equal(m.type, SESSION_SIGNAL);
	assert_int_equal(m.value, 10);
	{
		_cleanup_json_ struct json_document doc = ask(*state, 1000, "Kill", id, "");

		assert_null(json_get(doc.root, "error"));
	}
	server_isod_expect(*state, CONTROL_KILL);
	expect_ending(helper, EXIT_KIND_SIGNAL, SIGKILL);
	send_ended(*state, id);
	{
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_int_equal(exit_of(&doc), 137);
	}
}

static void test_time_limit(void **state)
{
	struct server *s = *state;
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(s, 1000, "", &client, id);

	session_kill(registry_find_id(&s->control.registry, id), CAUSE_TIME);
	assert_string_equal(server_isod_expect(s, CONTROL_KILL).id, id);
	expect_ending(helper, EXIT_KIND_TIME, 0);
	send_status(helper, SESSION_EXITED, EXIT_KIND_TIME, 0);
	{
		_cleanup_json_ struct json_document doc = server_reply(s, client);

		assert_int_equal(exit_of(&doc), 124);
	}
}

/* Only isod-control knows of the time limit. */
static void test_time_limit_of_the_helper_s_own(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);

	send_status(helper, SESSION_EXITED, EXIT_KIND_TIME, 0);
	assert_string_equal(server_isod_expect(*state, CONTROL_KILL).id, id);
}

/* A helper that ends with an order unread resets its channel; its last words stand before that. */
static void test_last_words_of_a_helper(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);
	{
		_cleanup_json_ struct json_document doc = ask(*state, 1000, "Kill", id, ",\"signal\":10");

		assert_null(json_get(doc.root, "error"));
	}
	send_status(helper, SESSION_EXITED, EXIT_KIND_CODE, 9);
	close(helper);
	helper = -1;
	{
		_cleanup_json_ struct json_document doc = server_reply(*state, client);

		assert_int_equal(exit_of(&doc), 9);
	}
}

static void test_other_users_see_nothing(void **state)
{
	static const char *const methods[] = { "Show", "Kill", "Log" };
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, ",\"name\":\"w\"", &client, id);

	assert_true(helper >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		const char *more = i == 2 ? ",\"follow\":false" : "";
		_cleanup_json_ struct json_document doc = ask(*state, 1001, methods[i], id, more);
		_cleanup_json_ struct json_document by_name = ask(*state, 1001, methods[i], "w", more);
		_cleanup_json_ struct json_document none = ask(*state, 1001, methods[i], "ffffffffffff", more);

		assert_string_equal(text_at(doc.root, "error", NULL), "org.isod.NoSuchSession");
		assert_string_equal(text_at(by_name.root, "error", NULL), "org.isod.NoSuchSession");
		/* The answer does not tell a foreign session from none. */
		assert_string_equal(text_at(doc.root, "parameters", "message"),
				    text_at(none.root, "parameters", "message"));
	}
	assert_int_equal(count_sessions(*state, 1001, true), 0);
	assert_int_equal(count_sessions(*state, 0, false), 1);
	{
		_cleanup_json_ struct json_document doc = ask(*state, 0, "Show", id, "");

		assert_null(json_get(doc.root, "error"));
	}
	/* Names that are paths never reach a file system. */
	{
		_cleanup_json_ struct json_document doc =
			ask(*state, 0, "Log", "../../etc/passwd", ",\"follow\":false");

		assert_string_equal(text_at(doc.root, "error", NULL), "org.isod.NoSuchSession");
	}
}

static void test_connections_in_the_log(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);
	struct session_connection m = { .type = SESSION_CONNECTION,
					.via = VIA_CONNECT,
					.reason = EGRESS_NOT_LISTED,
					.rule = UINT32_MAX,
					.protocol = IPPROTO_TCP,
					.port = 443,
					.pid = 3,
					.bytes_up = 10,
					.count = 1 };
	struct json_document lines[8] = { 0 };
	size_t n;

	/* What an agent might hope to write into the log. */
	strcpy(m.name, "x.example\n{\"verdict\":\"allow\"}");
	strcpy(m.program, "\x1b[2Jcurl\xff");
	assert_int_equal(send(helper, &m, sizeof(m), 0), sizeof(m));
	server_turn(*state);
	n = read_log(*state, 1000, id, lines, 8);
	assert_int_equal(n, 2);
	assert_string_equal(text_at(lines[1].root, "event", NULL), "connection");
	assert_string_equal(text_at(lines[1].root, "verdict", NULL), "deny");
	assert_string_equal(text_at(lines[1].root, "name", NULL), m.name);
	assert_string_equal(text_at(lines[1].root, "reason", NULL), "not-listed");
	assert_string_equal(text_at(lines[1].root, "via", NULL), "connect");
	while (n > 0)
		json_document_done(&lines[--n]);
}

static void spoil_nothing(struct session_connection *m) {}
static void spoil_name(struct session_connection *m)
{
	memset(m->name, 'a', sizeof(m->name));
}
static void spoil_program(struct session_connection *m)
{
	memset(m->program, 'a', sizeof(m->program));
}
static void spoil_reason(struct session_connection *m)
{
	m->reason = EGRESS_REASON_COUNT;
}
static void spoil_via(struct session_connection *m)
{
	m->via = VIA_COUNT;
}
static void spoil_rule(struct session_connection *m)
{
	m->rule = 5;
}
static void spoil_family(struct session_connection *m)
{
	m->family = AF_UNIX;
}
static void spoil_type(struct session_connection *m)
{
	m->type = SESSION_ATTACH;
}

static void test_helper_that_talks_nonsense(void **state)
{
	static const struct {
		void (*spoil)(struct session_connection *m);
		size_t cut;
	} bad[] = {
		{ spoil_name, 0 }, { spoil_program, 0 }, { spoil_reason, 0 },
		{ spoil_via, 0 },  { spoil_rule, 0 },    { spoil_family, 0 },
		{ spoil_type, 0 }, { spoil_nothing, 1 }, { spoil_nothing, 2000 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char id[ISOD_ID_LEN + 1];
		_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);
		struct session_connection m = { .type = SESSION_CONNECTION, .via = VIA_HTTP, .rule = UINT32_MAX };
		size_t size = bad[i].cut > sizeof(m) ? 1 : sizeof(m) - bad[i].cut;

		bad[i].spoil(&m);
		assert_int_equal(send(helper, &m, size, MSG_NOSIGNAL), size);
		assert_string_equal(server_isod_expect(*state, CONTROL_KILL).id, id);
		send_ended(*state, id);
		server_expect_error(*state, client, "org.isod.SandboxUnavailable");
	}
}

static void test_terminal_is_handed_over(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000);
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	struct control_message m;
	struct session_status attach;
	int pair[2], fds[2];
	size_t n_fds = 2;
	char byte;

	server_call(*state, client,
		    "{\"method\":\"org.isod.Run\",\"upgrade\":true,\"parameters\":{\"argv\":[\"true\"],\"cwd\":"
		    "\"/srv/project\",\"env\":[],\"named\":[],\"policies\":[],\"terminal\":{\"rows\":24,"
		    "\"columns\":80}}}",
		    NULL, 0);
	m = server_isod_expect(*state, CONTROL_START);
	assert_int_equal(m.flags, CONTROL_START_PTY);
	m.type = CONTROL_SESSION_STARTED;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	server_isod_send(*state, &m, pair[0]);
	close(pair[0]);
	doc = server_reply(*state, client);
	assert_string_equal(text_at(doc.root, "parameters", "event"), "started");
	assert_null(json_get(doc.root, "continues"));
	assert_int_equal(fd_pass_receive(pair[1], &attach, sizeof(attach), fds, &n_fds), sizeof(attach));
	assert_int_equal(attach.type, SESSION_ATTACH);
	assert_int_equal(attach.value, 24 << 16 | 80);
	assert_int_equal(n_fds, 1);
	/* It is the client's connection. */
	assert_int_equal(write(fds[0], "x", 1), 1);
	assert_int_equal(read(client, &byte, 1), 1);
	close(fds[0]);
	send_status(pair[1], SESSION_EXITED, EXIT_KIND_SIGNAL, SIGTERM);
	send_ended(*state, m.id);
	server_isod_expect(*state, CONTROL_PEER_DONE);
	close(pair[1]);
}

static void test_follow_ends_with_the_exit(void **state)
{
	char id[ISOD_ID_LEN + 1], call[256];
	_cleanup_close_ int client = -1, helper = server_start_session(*state, 1000, "", &client, id);
	_cleanup_close_ int reader = server_connect(*state, 1000);
	_cleanup_json_ struct json_document first = JSON_DOCUMENT_INIT, last = JSON_DOCUMENT_INIT;

	snprintf(call, sizeof(call),
		 "{\"method\":\"org.isod.Log\",\"more\":true,\"parameters\":{\"session\":\"%s\",\"follow\":true}}", id);
	server_call(*state, reader, call, NULL, 0);
	first = server_reply(*state, reader);
	assert_non_null(strstr(text_at(first.root, "parameters", "line"), "session.start"));
	assert_true(json_get(first.root, "continues")->boolean);
	send_status(helper, SESSION_EXITED, EXIT_KIND_CODE, 0);
	server_turn(*state);
	send_ended(*state, id);
	last = server_reply(*state, reader);
	assert_non_null(strstr(text_at(last.root, "parameters", "line"), "session.exit"));
	assert_null(json_get(last.root, "continues"));
}

static void test_history_comes_back_from_the_files(void **state)
{
	struct server *s = *state;
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(s, 1000, ",\"name\":\"old\"", &client, id);
	struct session *session;

	send_status(helper, SESSION_EXITED, EXIT_KIND_SIGNAL, 15);
	server_turn(s);
	send_ended(s, id);
	/* As after a restart. */
	while ((session = LIST_FIRST(&s->control.registry.ended))) {
		registry_remove(&s->control.registry, session);
		session_release(session);
	}
	server_turn(s);
	assert_int_equal(count_sessions(s, 1000, true), 1);
	assert_int_equal(count_sessions(s, 1001, true), 0);
	{
		_cleanup_json_ struct json_document doc = ask(s, 1000, "Show", "old", "");

		assert_int_equal(exit_of(&doc), 143);
		assert_string_equal(text_at(json_get(doc.root, "parameters"), "session", "project"), "/srv/project");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
		TEST(test_run_to_its_exit),
		TEST(test_start_that_fails),
		TEST(test_hang_up_ends_the_session),
		TEST(test_hang_up_while_it_starts),
		TEST(test_kill),
		TEST(test_time_limit),
		TEST(test_time_limit_of_the_helper_s_own),
		TEST(test_last_words_of_a_helper),
		TEST(test_other_users_see_nothing),
		TEST(test_connections_in_the_log),
		TEST(test_helper_that_talks_nonsense),
		TEST(test_terminal_is_handed_over),
		TEST(test_follow_ends_with_the_exit),
		TEST(test_history_comes_back_from_the_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
