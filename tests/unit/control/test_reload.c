/* The reply to a reload, which waits for the session's helper: the test is the helper. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "daemon/control/session.h"
#include "server.h"

/* A client that has asked for new rules; the helper has been sent them. */
static int ask(struct server *s, const char *id, int helper, uint32_t generation)
{
	int client = server_connect(s, 1000), fds[1];
	struct session_status m;
	char call[512];
	size_t n_fds = 1;

	snprintf(
		call, sizeof(call),
		"{\"method\":\"org.isod.PolicyReload\",\"parameters\":{\"session\":\"%s\",\"policies\":[{\"layer\":"
		"\"user\","
		"\"path\":\"/"
		"p\",\"text\":\"{\\\"sandbox\\\":{\\\"network\\\":{\\\"allowedDomains\\\":[\\\"a.example\\\"]}}}\"}]}}",
		id);
	server_call(s, client, call, NULL, 0);
	server_turn(s);
	if (generation == 0)
		return client;
	assert_int_equal(fd_pass_receive(helper, &m, sizeof(m), fds, &n_fds), sizeof(m));
	assert_int_equal(n_fds, 1);
	fd_close(fds[0]);
	assert_int_equal(m.type, SESSION_RULES);
	assert_int_equal(m.value, generation);
	return client;
}

static void say_done(struct server *s, int helper, int32_t generation, uint32_t closed)
{
	struct session_status m = { .type = SESSION_RULES_DONE, .kind = closed, .value = generation };

	assert_int_equal(send(helper, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
	server_turn(s);
}

static void expect_silence(struct server *s, int client)
{
	struct pollfd p = { .fd = client, .events = POLLIN };

	server_turn(s);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static void expect_done(struct server *s, int client, int64_t closed)
{
	_cleanup_json_ struct json_document doc = server_reply(s, client);
	const struct json_value *parameters = json_get(doc.root, "parameters");

	assert_null(json_get(doc.root, "error"));
	assert_int_equal(json_get(parameters, "closed")->integer, closed);
	assert_int_equal(strlen(text_at(parameters, "digest", NULL)), 64);
}

static void expect_error(struct server *s, int client, const char *name, const char *part)
{
	_cleanup_json_ struct json_document doc = server_reply(s, client);

	assert_string_equal(text_at(doc.root, "error", NULL), name);
	if (!strstr(text_at(doc.root, "parameters", "message"), part))
		fail_msg("%s", text_at(doc.root, "parameters", "message"));
}

static void the_reply_waits_for_the_helper(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int runner = -1, helper = server_start_session(*state, 1000, "", &runner, id);
	_cleanup_close_ int client = ask(*state, id, helper, 1), second = -1;

	expect_silence(*state, client);
	/* One at a time. */
	second = ask(*state, id, helper, 0);
	expect_error(*state, second, "org.isod.Refused", "another call");
	say_done(*state, helper, 1, 3);
	expect_done(*state, client, 3);
	/* A word more is nobody's. */
	say_done(*state, helper, 1, 3);
	expect_silence(*state, client);
	fd_close(second);
	second = ask(*state, id, helper, 2);
	say_done(*state, helper, 2, 0);
	expect_done(*state, second, 0);
}

static void an_answer_to_what_was_not_sent_ends_the_session(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int runner = -1, helper = server_start_session(*state, 1000, "", &runner, id);
	_cleanup_close_ int client = ask(*state, id, helper, 1);

	assert_true(client >= 0);
	say_done(*state, helper, 2, 0);
	assert_string_equal(server_isod_expect(*state, CONTROL_KILL).id, id);
}

static void the_session_ends_meanwhile(void **state)
{
	struct control_message ended = { .type = CONTROL_SESSION_ENDED, .kind = EXIT_KIND_LOST };
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int runner = -1, helper = server_start_session(*state, 1000, "", &runner, id);
	_cleanup_close_ int client = ask(*state, id, helper, 1);

	memcpy(ended.id, id, ISOD_ID_LEN);
	server_isod_send(*state, &ended, -1);
	expect_error(*state, client, "org.isod.Refused", "ended");
}

static void the_client_leaves_meanwhile(void **state)
{
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int runner = -1, helper = server_start_session(*state, 1000, "", &runner, id);
	_cleanup_close_ int client = ask(*state, id, helper, 1), other = server_connect(*state, 1000);

	client = fd_close(client);
	server_turn(*state);
	say_done(*state, helper, 1, 0);
	expect_silence(*state, other);
	client = ask(*state, id, helper, 2);
	say_done(*state, helper, 2, 0);
	expect_done(*state, client, 0);
}

static void a_helper_that_says_nothing(void **state)
{
	struct server *s = *state;
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int runner = -1, helper = server_start_session(s, 1000, "", &runner, id);
	_cleanup_close_ int client = ask(s, id, helper, 1), again = -1;
	struct session *session = LIST_FIRST(&s->control.registry.live);

	assert_true(uv_is_active((uv_handle_t *)&session->reload_timer));
	assert_true(uv_timer_get_due_in(&session->reload_timer) <= LIMIT_RELOAD_MS);
	expect_silence(s, client);
	/* Not waited for: as if it were over. */
	uv_timer_set_repeat(&session->reload_timer, 1);
	assert_int_equal(uv_timer_again(&session->reload_timer), 0);
	expect_error(s, client, "org.isod.Internal", "has not said");
	assert_false(session->reload.awaited);
	/* What it says late is nobody's answer, and the next call has its own. */
	again = ask(s, id, helper, 2);
	say_done(s, helper, 1, 7);
	expect_silence(s, again);
	say_done(s, helper, 2, 0);
	expect_done(s, again, 0);
	assert_false(uv_is_active((uv_handle_t *)&session->reload_timer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_reply_waits_for_the_helper, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(an_answer_to_what_was_not_sent_ends_the_session, server_setup,
						server_teardown),
		cmocka_unit_test_setup_teardown(the_session_ends_meanwhile, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(the_client_leaves_meanwhile, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(a_helper_that_says_nothing, server_setup, server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
