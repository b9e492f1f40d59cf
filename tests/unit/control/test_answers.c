/* Answers that would be larger than a message: what is left out is counted, and what cannot be cut is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/wire/layer.h"
#include "server.h"

#define N_RULES 6000
#define N_LAYERS 400

/* Policies with many rules that hold for /srv/a, each of which is answered with the long path of its file. */
static char *policies(size_t n)
{
	struct buffer out = BUFFER_INIT(1U << 20);
	int r = buffer_append_string(&out, "\"policies\":[{\"layer\":\"file\",\"path\":\"/");

	for (size_t i = 0; i < 1000 && r == 0; i++)
		r = buffer_append_string(&out, "p");
	if (r == 0)
		r = buffer_append_string(&out,
					 "\",\"text\":\"{\\\"sandbox\\\":{\\\"filesystem\\\":{\\\"denyWrite\\\":[");
	for (size_t i = 0; i < n && r == 0; i++)
		r = buffer_printf(&out, "%s\\\"./[ab%05zu]\\\"", i ? "," : "", i);
	if (r == 0)
		r = buffer_append(&out, "]}}}\"}]", sizeof("]}}}\"}]"));
	assert_int_equal(r, 0);
	return out.data;
}

static struct json_document ask(struct server *s, int client, const char *method, size_t n, const char *more)
{
	_cleanup_free_ char *texts = policies(n), *call = NULL;

	assert_true(asprintf(&call, "{\"method\":\"org.isod.%s\",\"parameters\":{%s%s}}", method, texts, more) > 0);
	server_call(s, client, call, NULL, 0);
	return server_reply(s, client);
}

static size_t count(const struct json_document *doc, const char *member)
{
	const struct json_value *list = json_get(json_get(doc->root, "parameters"), member);

	assert_true(list && list->type == JSON_ARRAY);
	return list->array.count;
}

static int64_t more(const struct json_document *doc)
{
	const struct json_value *v = json_get(json_get(doc->root, "parameters"), "more");

	assert_true(v && v->type == JSON_INTEGER);
	return v->integer;
}

static void weaker_rules_are_counted(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	static const char path[] = ",\"cwd\":\"/srv/project\",\"path\":\"/srv/project/a\"";
	_cleanup_json_ struct json_document few = ask(s, client, "PolicyTest", 100, path);
	_cleanup_json_ struct json_document many = ask(s, client, "PolicyTest", N_RULES, path);
	size_t built_in = count(&few, "rules") - 100;

	assert_int_equal(more(&few), 0);
	assert_true(count(&many, "rules") > 1000);
	assert_true(more(&many) > 0);
	assert_int_equal(count(&many, "rules") + (size_t)more(&many), N_RULES + built_in);
	/* The one that decides is among those that are told. */
	assert_string_equal(
		json_get(&json_get(json_get(many.root, "parameters"), "rules")->array.items[0], "state")->string.data,
		"decides");
}

static void what_cannot_be_cut_is_refused(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000);
	_cleanup_json_ struct json_document few = ask(s, client, "PolicyShow", 100, "");
	_cleanup_json_ struct json_document many = ask(s, client, "PolicyShow", N_RULES, "");
	_cleanup_json_ struct json_document after = JSON_DOCUMENT_INIT;

	assert_null(json_get(few.root, "error"));
	assert_non_null(many.root);
	assert_string_equal(text_at(many.root, "error", NULL), "org.isod.LimitExceeded");
	assert_string_equal(text_at(many.root, "parameters", "message"), "The answer would be larger than 4 MiB.");
	/* The connection goes on. */
	after = ask(s, client, "PolicyShow", 100, "");
	assert_null(json_get(after.root, "error"));
}

static void layers_are_counted(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 0);
	_cleanup_free_ struct layer_record *records = calloc(N_LAYERS, sizeof(*records));
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	struct control_message m = { .type = CONTROL_LAYER };

	for (size_t i = 0; i < N_LAYERS; i++) {
		records[i] = (struct layer_record){ .magic = LAYER_MAGIC, .uid = 1000, .id = "0123456789ab" };
		/* Six bytes each in JSON. */
		memset(records[i].project, 0xff, sizeof(records[i].project) - 1);
		records[i].project[0] = '/';
	}
	server_call(s, client, "{\"method\":\"org.isod.Layers\",\"parameters\":{}}", NULL, 0);
	m.connection = server_isod_expect(s, CONTROL_LAYER_LIST).connection;
	server_isod_send(s, &m, fd_sealed_new("layers", records, N_LAYERS * sizeof(*records)));
	doc = server_reply(s, client);
	assert_true(count(&doc, "layers") > 100);
	assert_true(more(&doc) > 0);
	assert_int_equal(count(&doc, "layers") + (size_t)more(&doc), N_LAYERS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, server_setup, server_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(weaker_rules_are_counted),
		TEST(what_cannot_be_cut_is_refused),
		TEST(layers_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
