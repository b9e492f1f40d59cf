/* Calls about kept layers: the test is isod and the client. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/wire/layer.h"
#include "server.h"

#define ID "0123456789ab"
#define CALL(method, parameters) "{\"method\":\"org.isod." method "\",\"parameters\":{" parameters "}}"

static void answer(struct server *s, uint64_t connection, const struct error *e, int fd)
{
	struct control_message m = { .type = CONTROL_LAYER, .connection = connection };

	if (e)
		m.error = *e;
	server_isod_send(s, &m, fd);
	server_turn(s);
}

static int list_of(const struct layer_record *records, size_t n)
{
	int fd = fd_sealed_new("layers", records, n * sizeof(*records));

	assert_true(fd >= 0);
	return fd;
}

static void list_names_what_isod_knows(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	struct layer_record records[2] = {
		{ .magic = LAYER_MAGIC,
		  .uid = 1000,
		  .running = 1,
		  .started_ns = 1500000001,
		  .id = ID,
		  .project = "/p\xff" },
		{ .magic = LAYER_MAGIC, .uid = 1000, .id = "ffffffffffff", .project = "/q" },
	};
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	const struct json_value *layers, *first;
	struct control_message m;

	server_call(s, client, CALL("Layers", ""), NULL, 0);
	m = server_isod_expect(s, CONTROL_LAYER_LIST);
	answer(s, m.connection, NULL, list_of(records, 2));
	doc = server_reply(s, client);
	layers = json_get(json_get(doc.root, "parameters"), "layers");
	assert_int_equal(layers->array.count, 2);
	first = &layers->array.items[0];
	assert_string_equal(json_get(first, "session")->string.data, ID);
	assert_string_equal(json_get(first, "project")->string.data, "/p\xed\xb3\xbf");
	assert_string_equal(json_get(first, "started")->string.data, "1970-01-01T00:00:01.500Z");
	assert_int_equal(json_get(first, "startedNanoseconds")->integer, 1500000001);
	assert_true(json_get(first, "running")->boolean);
	assert_false(json_get(&layers->array.items[1], "running")->boolean);
}

static void none_is_an_empty_list(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	static const struct layer_record none;
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;

	server_call(s, client, CALL("Layers", ""), NULL, 0);
	answer(s, server_isod_expect(s, CONTROL_LAYER_LIST).connection, NULL, list_of(&none, 1));
	doc = server_reply(s, client);
	assert_int_equal(json_get(json_get(doc.root, "parameters"), "layers")->array.count, 0);
}

/* The descriptor comes with its own reply, behind another one that is still there. */
static void layer_brings_its_folder(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000), got = -1;
	struct control_message m;
	char data[512];
	size_t n_fds = 1;
	ssize_t n;

	server_call(s, client, CALL("Status", ""), NULL, 0);
	server_call(s, client, CALL("Layer", "\"session\":\"" ID "\",\"ended\":true"), NULL, 0);
	m = server_isod_expect(s, CONTROL_LAYER_OPEN);
	assert_string_equal(m.id, ID);
	assert_int_equal(m.flags, CONTROL_LAYER_ENDED);
	answer(s, m.connection, NULL, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	/* The kernel ends a read after the bytes that descriptors came with. */
	n = fd_pass_receive(client, data, sizeof(data) - 1, &got, &n_fds);
	assert_true(n > 0);
	assert_int_equal(n_fds, 1);
	assert_int_equal(fcntl(got, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_non_null(memmem(data, (size_t)n, "ready", 5));
	assert_string_equal(data + strlen(data) + 1, "{\"parameters\":{}}");
}

static void refusals_pass_through(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_NO_SUCH_SESSION, 2, "layer", "", "There is no such layer.");
	server_call(s, client, CALL("Discard", "\"session\":\"" ID "\""), NULL, 0);
	answer(s, server_isod_expect(s, CONTROL_LAYER_DISCARD).connection, &e, -1);
	server_expect_error(s, client, "org.isod.NoSuchSession");
	/* The connection goes on. */
	server_call(s, client, CALL("Discard", "\"session\":\"" ID "\""), NULL, 0);
	answer(s, server_isod_expect(s, CONTROL_LAYER_DISCARD).connection, NULL, -1);
	assert_int_equal(read(client, &(char[64]){ 0 }, 64), sizeof("{\"parameters\":{}}"));
}

static void only_ids_reach_isod(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	static const char *const bad[] = { "../../../etc", "name", "0123456789AB", "0123456789abc", "" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char call[256];

		snprintf(call, sizeof(call), CALL("Layer", "\"session\":\"%s\",\"ended\":false"), bad[i]);
		server_call(s, client, call, NULL, 0);
		server_expect_error(s, client, "org.isod.NoSuchSession");
	}
}

/* The answer comes too late: its descriptor is closed, and nobody else gets it. */
static void client_may_go_meanwhile(void **state)
{
	struct server *s = *state;
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	int client = server_connect(s, 1000);
	struct control_message m;

	server_call(s, client, CALL("Layer", "\"session\":\"" ID "\",\"ended\":false"), NULL, 0);
	m = server_isod_expect(s, CONTROL_LAYER_OPEN);
	close(client);
	server_isod_expect(s, CONTROL_PEER_DONE);
	answer(s, m.connection, NULL, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	client = server_connect(s, 1000);
	server_call(s, client, CALL("Status", ""), NULL, 0);
	doc = server_reply(s, client);
	assert_non_null(json_get(json_get(doc.root, "parameters"), "ready"));
	close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(list_names_what_isod_knows, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(none_is_an_empty_list, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(layer_brings_its_folder, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(refusals_pass_through, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(only_ids_reach_isod, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(client_may_go_meanwhile, server_setup, server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
