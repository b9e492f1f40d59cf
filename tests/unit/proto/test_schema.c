/* The parameters of Run and the rest, from text to struct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "proto/schema.h"

static int decode(const char *text, const struct json_schema *schema, struct json_document *d, void *ret,
		  struct json_decoded *decoded, struct error *e)
{
	int r = json_read(text, strlen(text), 0, d, e);

	return r < 0 ? r : json_decode(d->root, schema, "parameters", ret, decoded, e);
}

static void test_run_full(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	const struct schema_variable *env;
	const struct schema_policy *policies;
	const struct schema_link *links;
	struct run_parameters p;
	struct error e = ERROR_INIT;

	assert_int_equal(
		decode("{\"argv\":[\"cat\",\"\\udcff\"],\"cwd\":\"/w/\\udc80\",\"pwd\":\"/p\","
		       "\"links\":[{\"path\":\"/p\",\"target\":\"w/\\udc80\"}],"
		       "\"env\":[{\"name\":\"HOME\",\"value\":\"/h\"},{\"name\":\"A\",\"value\":\"\\udcfe\"}],"
		       "\"named\":[\"A\"],\"policies\":[{\"layer\":\"user\",\"path\":\"/h/\\udcc3\",\"text\":\"{}\"}],"
		       "\"terminal\":{\"rows\":24,\"columns\":65535},\"umask\":511,\"name\":\"n\"}",
		       &schema_run, &d, &p, &decoded, &e),
		0);
	assert_int_equal(p.argv.count, 2);
	assert_string_equal(p.argv.items[0], "cat");
	assert_string_equal(p.argv.items[1], "\xff");
	assert_null(p.argv.items[2]);
	assert_string_equal(p.cwd, "/w/\x80");
	assert_string_equal(p.pwd, "/p");
	links = p.links.items;
	assert_int_equal(p.links.count, 1);
	assert_string_equal(links[0].path, "/p");
	assert_string_equal(links[0].target, "w/\x80");
	env = p.env.items;
	assert_int_equal(p.env.count, 2);
	assert_string_equal(env[0].name, "HOME");
	assert_string_equal(env[1].value, "\xfe");
	assert_int_equal(p.named.count, 1);
	assert_string_equal(p.named.items[0], "A");
	policies = p.policies.items;
	assert_int_equal(p.policies.count, 1);
	assert_string_equal(policies[0].layer, "user");
	assert_string_equal(policies[0].path, "/h/\xc3");
	assert_string_equal(policies[0].text, "{}");
	assert_true(p.has_terminal);
	assert_int_equal(p.terminal.rows, 24);
	assert_int_equal(p.terminal.columns, 65535);
	assert_true(p.has_umask);
	assert_int_equal(p.umask, 0777);
	assert_string_equal(p.name, "n");
}

#define RUN_TAIL "\"cwd\":\"/\",\"env\":[],\"named\":[],\"policies\":[]"

static void test_run_least(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	struct run_parameters p;

	assert_int_equal(decode("{\"argv\":[]," RUN_TAIL ",\"terminal\":null,\"umask\":null,\"pwd\":null}", &schema_run,
				&d, &p, &decoded, NULL),
			 0);
	assert_int_equal(p.argv.count, 0);
	assert_false(p.has_terminal);
	assert_false(p.has_umask);
	assert_null(p.pwd);
	assert_null(p.name);
	assert_int_equal(p.links.count, 0);
}

static void test_refused(void **state)
{
	static const struct {
		const struct json_schema *schema;
		const char *text;
		const char *step;
	} cases[] = {
		{ &schema_run, "{}", "parameters.argv" },
		{ &schema_run, "{\"argv\":[\"a\"]}", "parameters.cwd" },
		{ &schema_run, "{\"argv\":[\"a\",0]," RUN_TAIL "}", "parameters.argv[1]" },
		{ &schema_run, "{\"argv\":\"a\"," RUN_TAIL "}", "parameters.argv" },
		{ &schema_run, "{\"argv\":[\"a\"]," RUN_TAIL ",\"umask\":512}", "parameters.umask" },
		{ &schema_run, "{\"argv\":[\"a\"]," RUN_TAIL ",\"umask\":-1}", "parameters.umask" },
		{ &schema_run, "{\"argv\":[]," RUN_TAIL ",\"uid\":0}", "parameters.uid" },
		{ &schema_run, "{\"argv\":[]," RUN_TAIL ",\"terminal\":{}}", "parameters.terminal.rows" },
		{ &schema_run, "{\"argv\":[]," RUN_TAIL ",\"terminal\":{\"rows\":1,\"columns\":65536}}",
		  "parameters.terminal.columns" },
		{ &schema_run, "{\"argv\":[]," RUN_TAIL ",\"terminal\":{\"rows\":-1,\"columns\":1}}",
		  "parameters.terminal.rows" },
		{ &schema_run, "{\"argv\":[]," RUN_TAIL ",\"links\":[{\"path\":\"/\"}]}",
		  "parameters.links[0].target" },
		{ &schema_run,
		  "{\"argv\":[],\"cwd\":\"/\",\"env\":[{\"name\":\"A\",\"value\":\"\"},{\"name\":\"\\udcff\","
		  "\"value\":\"\"}],\"named\":[],\"policies\":[]}",
		  "parameters.env[1].name" },
		{ &schema_run, "{\"argv\":[],\"cwd\":\"/\",\"env\":{\"A\":\"\"},\"named\":[],\"policies\":[]}",
		  "parameters.env" },
		{ &schema_list, "{}", "parameters.all" },
		{ &schema_list, "{\"all\":\"yes\"}", "parameters.all" },
		{ &schema_show, "{\"session\":5}", "parameters.session" },
		{ &schema_log, "{\"session\":\"a\"}", "parameters.follow" },
		{ &schema_kill, "{\"session\":\"a\",\"signal\":65}", "parameters.signal" },
		{ &schema_kill, "{\"session\":\"a\",\"signal\":-1}", "parameters.signal" },
		{ &schema_kill, "{\"signal\":9}", "parameters.session" },
		{ &schema_policy_show, "{\"policies\":[{\"layer\":\"user\",\"path\":\"\",\"text\":\"\\udc80\"}]}",
		  "parameters.policies[0].text" },
		{ &schema_get_interface_description, "{\"interface\":[]}", "parameters.interface" },
		{ &schema_none, "{\"x\":1}", "parameters.x" },
		{ &schema_none, "[]", "parameters" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
		struct run_parameters largest;
		struct error e = ERROR_INIT;

		assert_int_equal(decode(cases[i].text, cases[i].schema, &d, &largest, &decoded, &e), -EINVAL);
		assert_string_equal(e.step, cases[i].step);
	}
}

static void test_small_methods(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT, d2 = JSON_DOCUMENT_INIT, d3 = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	struct kill_parameters kill;
	struct log_parameters log;
	char none = 1;

	assert_int_equal(decode("{\"session\":\"abc\"}", &schema_kill, &d, &kill, &decoded, NULL), 0);
	assert_string_equal(kill.session, "abc");
	assert_int_equal(kill.signal, 0);
	assert_int_equal(decode("{\"session\":\"abc\",\"follow\":true}", &schema_log, &d2, &log, &decoded, NULL), 0);
	assert_true(log.follow);
	assert_int_equal(decode("{}", &schema_none, &d3, &none, &decoded, NULL), 0);
	assert_int_equal(none, 0);
}

/* A policy of the largest size passes, one byte more does not. */
static void test_policy_bound(void **state)
{
	for (size_t n = LIMIT_POLICY_FILE; n <= LIMIT_POLICY_FILE + 1; n++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_MESSAGE);
		struct policy_show_parameters p;
		struct error e = ERROR_INIT;
		int r;

		buffer_append_string(&b, "{\"policies\":[{\"layer\":\"user\",\"path\":\"p\",\"text\":\"");
		assert_int_equal(buffer_reserve(&b, n), 0);
		memset(b.data + b.len, ' ', n);
		b.len += n;
		buffer_append(&b, "\"}]}", 5);
		r = decode(b.data, &schema_policy_show, &d, &p, &decoded, &e);
		assert_int_equal(r, n == LIMIT_POLICY_FILE ? 0 : -EINVAL);
		if (r < 0)
			assert_string_equal(e.message, "parameters.policies[0].text is longer than 1048576 bytes.");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run_full),     cmocka_unit_test(test_run_least),
		cmocka_unit_test(test_refused),      cmocka_unit_test(test_small_methods),
		cmocka_unit_test(test_policy_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
