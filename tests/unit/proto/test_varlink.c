/* Framing over a real socket, envelopes of both directions, and errors there and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/write.h"
#include "proto/varlink.h"
#include "tests/unit/guard_page.h"

static void test_frame_short_reads(void **state)
{
	static const char text[] = "{\"a\":1}\0{}\0\0{\"half";
	size_t ends[] = { 8, 11, 12 }, at = 0, seen = 0, found = 0;
	int sock[2];
	char data[64];
	size_t len = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock), 0);
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		struct guard_page g;
		long r;

		assert_int_equal(write(sock[0], text + i, 1), 1);
		assert_int_equal(read(sock[1], data + len, sizeof(data) - len), 1);
		len++;
		g = guard_page_new(data + at, len - at);
		r = varlink_frame(g.data, len - at, &seen);
		guard_page_done(&g);
		if (r == 0) {
			assert_int_equal(seen, len - at);
			continue;
		}
		assert_int_equal(r, len - at);
		assert_int_equal(seen, 0);
		at += r;
		assert_in_range(found, 0, 2);
		assert_int_equal(at, ends[found]);
		found++;
	}
	assert_int_equal(found, 3);
	assert_int_equal(seen, 6);
	fd_close(sock[0]);
	fd_close(sock[1]);
}

static void test_frame_several(void **state)
{
	size_t seen = 0;

	assert_int_equal(varlink_frame("ab\0cd\0", 6, &seen), 3);
	assert_int_equal(seen, 0);
	assert_int_equal(varlink_frame("", 0, &seen), 0);
	/* what was seen is not looked at again */
	seen = 3;
	assert_int_equal(varlink_frame("\0bcd\0", 5, &seen), 5);
	/* nor is more than there is */
	seen = 100;
	assert_int_equal(varlink_frame("a\0", 2, &seen), 2);
}

static void test_frame_bound(void **state)
{
	_cleanup_free_ char *data = malloc(LIMIT_MESSAGE + 2);
	size_t seen = 0;

	assert_non_null(data);
	memset(data, 'a', LIMIT_MESSAGE + 2);
	assert_int_equal(varlink_frame(data, LIMIT_MESSAGE - 1, &seen), 0);
	assert_int_equal(seen, LIMIT_MESSAGE - 1);
	assert_int_equal(varlink_frame(data, LIMIT_MESSAGE, &seen), -EMSGSIZE);
	seen = 0;
	data[LIMIT_MESSAGE - 1] = '\0';
	assert_int_equal(varlink_frame(data, LIMIT_MESSAGE, &seen), LIMIT_MESSAGE);
	data[LIMIT_MESSAGE - 1] = 'a';
	data[LIMIT_MESSAGE] = '\0';
	seen = 0;
	assert_int_equal(varlink_frame(data, LIMIT_MESSAGE + 1, &seen), -EMSGSIZE);
}

static int call_parse(const char *text, struct json_document *d, struct varlink_call *call, struct error *e)
{
	struct guard_page g = guard_page_new(text, strlen(text));
	int r = varlink_call_parse(g.data, strlen(text), d, call, e);

	guard_page_done(&g);
	return r;
}

static void test_call(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT, bare = JSON_DOCUMENT_INIT,
					    null = JSON_DOCUMENT_INIT;
	struct varlink_call call;

	assert_int_equal(
		call_parse("{\"method\":\"org.isod.Run\",\"parameters\":{\"a\":1},\"more\":true,\"upgrade\":true}", &d,
			   &call, NULL),
		0);
	assert_string_equal(call.method, "org.isod.Run");
	assert_int_equal(json_get(call.parameters, "a")->integer, 1);
	assert_true(call.more);
	assert_true(call.upgrade);
	assert_false(call.oneway);
	assert_int_equal(call_parse("{\"oneway\":true,\"method\":\"a.B\"}", &bare, &call, NULL), 0);
	assert_int_equal(call.parameters->type, JSON_OBJECT);
	assert_int_equal(call.parameters->object.count, 0);
	assert_true(call.oneway);
	assert_false(call.more);
	assert_int_equal(call_parse("{\"method\":\"a.B\",\"parameters\":null,\"more\":null}", &null, &call, NULL), 0);
	assert_int_equal(call.parameters->object.count, 0);
	assert_false(call.more);
}

static void test_call_refused(void **state)
{
	static const struct {
		const char *text;
		int r;
		const char *step;
	} cases[] = {
		{ "", -EBADMSG, "line 1" },
		{ "GET / HTTP/1.1\r\n", -EBADMSG, "line 1" },
		{ "[]", -EINVAL, "call" },
		{ "{}", -EINVAL, "call.method" },
		{ "{\"method\":null}", -EINVAL, "call.method" },
		{ "{\"method\":1}", -EINVAL, "call.method" },
		{ "{\"method\":\"\\udc80\"}", -EINVAL, "call.method" },
		{ "{\"method\":\"a.B\",\"more\":1}", -EINVAL, "call.more" },
		{ "{\"method\":\"a.B\",\"parameters\":[]}", -EINVAL, "parameters" },
		{ "{\"method\":\"a.B\",\"parameters\":\"\"}", -EINVAL, "parameters" },
		{ "{\"method\":\"a.B\",\"fds\":1}", -EINVAL, "call.fds" },
		{ "{\"method\":\"a.B\",\"method\":\"a.C\"}", -EBADMSG, "line 1" },
		{ "{\"method\":\"a.B\",\"oneway\":true,\"more\":true}", -EINVAL, "call.oneway" },
		{ "{\"method\":\"a.B\",\"oneway\":true,\"upgrade\":true}", -EINVAL, "call.oneway" },
		{ "{\"method\":\"a.B\"} // x", -EBADMSG, "line 1" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_document d = { .arena = (void *)1 };
		struct varlink_call call = { .method = "untouched" };
		struct error e = ERROR_INIT;

		assert_int_equal(call_parse(cases[i].text, &d, &call, &e), cases[i].r);
		assert_string_equal(e.step, cases[i].step);
		assert_int_equal(e.code, ERROR_INVALID);
		assert_true(strlen(e.message) > 10);
		assert_string_equal(call.method, "untouched");
		assert_ptr_equal(d.arena, (void *)1);
	}
}

static void test_method_name_bound(void **state)
{
	for (int n = 255; n <= 256; n++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
		struct varlink_call call;

		buffer_printf(&b, "{\"method\":\"%0*d\"}", n, 0);
		assert_int_equal(varlink_call_parse(b.data, b.len, &d, &call, NULL), n == 255 ? 0 : -EINVAL);
	}
}

/* What one side writes the other reads. */
static void test_call_round_trip(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct json_writer *w = varlink_call_begin(&b, "org.isod.List", true, false);
	struct varlink_call call;
	size_t seen = 0;

	json_write_member_bool(w, "all", true);
	assert_int_equal(varlink_end(w, &b), 0);
	assert_string_equal(b.data, "{\"method\":\"org.isod.List\",\"more\":true,\"parameters\":{\"all\":true}}");
	assert_int_equal(varlink_frame(b.data, b.len, &seen), b.len);
	assert_int_equal(varlink_call_parse(b.data, b.len - 1, &d, &call, NULL), 0);
	assert_true(call.more);
	assert_false(call.upgrade);
	b.len = 0;
	assert_int_equal(varlink_end(varlink_call_begin(&b, "org.isod.Status", false, true), &b), 0);
	assert_string_equal(b.data, "{\"method\":\"org.isod.Status\",\"upgrade\":true,\"parameters\":{}}");
}

static void test_reply(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT, last = JSON_DOCUMENT_INIT;
	struct json_writer *w = varlink_reply_begin(&b, true);
	struct varlink_reply reply;
	struct error e = ERROR_INIT;

	json_write_member_string(w, "line", "x");
	assert_int_equal(varlink_end(w, &b), 0);
	assert_string_equal(b.data, "{\"continues\":true,\"parameters\":{\"line\":\"x\"}}");
	assert_int_equal(varlink_reply_parse(b.data, b.len - 1, &d, &reply, NULL), 0);
	assert_null(reply.error);
	assert_true(reply.continues);
	assert_string_equal(json_get(reply.parameters, "line")->string.data, "x");
	assert_int_equal(varlink_reply_parse("{}", 2, &last, &reply, NULL), 0);
	assert_null(reply.error);
	assert_false(reply.continues);
	assert_int_equal(reply.parameters->object.count, 0);
	assert_int_equal(varlink_reply_parse("{\"method\":1}", 12, &last, &reply, &e), -EINVAL);
	assert_string_equal(e.step, "reply.method");
}

static void test_message_fails_whole(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(40);
	struct json_writer *w;

	buffer_append(&b, "first\0", 6);
	w = varlink_reply_begin(&b, false);
	json_write_member_string(w, "line", "far too long for what is left in here");
	assert_int_equal(varlink_end(w, &b), -EMSGSIZE);
	assert_int_equal(b.len, 6);
	w = varlink_reply_begin(&b, false);
	json_write_array(w); /* no name */
	assert_int_equal(varlink_end(w, &b), -EINVAL);
	assert_int_equal(b.len, 6);
	w = varlink_reply_begin(&b, false);
	json_write_key(w, "open");
	json_write_array(w);
	assert_int_equal(varlink_end(w, &b), -EINVAL);
	assert_int_equal(b.len, 6);
	assert_int_equal(varlink_end(NULL, &b), -ENOMEM);
}

static void parse_error_reply(struct buffer *b, struct error *ret)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct varlink_reply reply;

	assert_int_equal(b->data[b->len - 1], 0);
	assert_int_equal(varlink_reply_parse(b->data, b->len - 1, &d, &reply, NULL), 0);
	assert_non_null(reply.error);
	varlink_reply_error(&reply, ret);
}

static void test_error_round_trip(void **state)
{
	for (uint32_t code = 1; code < ERROR_CODE_COUNT; code++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(4096);
		struct error from = ERROR_INIT, to = ERROR_INIT;

		error_set(&from, code, ENOENT, "mount /x", "Do \"this\".", "It is\nso \xff %d.", 7);
		assert_int_equal(varlink_error_append(&b, &from), 0);
		parse_error_reply(&b, &to);
		assert_int_equal(to.code, code);
		assert_int_equal(to.err, ENOENT);
		assert_string_equal(to.step, from.step);
		assert_string_equal(to.remedy, from.remedy);
		/* the byte that is no text arrives in the tree's form */
		assert_string_equal(to.message, "It is\nso \xed\xb3\xbf 7.");
	}
}

static void test_error_names(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(4096);
	struct error none = ERROR_INIT, policy = { .code = ERROR_POLICY }, unknown = { .code = 999 };

	varlink_error_append(&b, &none);
	assert_string_equal(b.data, "{\"error\":\"org.isod.Internal\",\"parameters\":{\"step\":\"\",\"message\":\"\","
				    "\"remedy\":\"\",\"errno\":0}}");
	b.len = 0;
	varlink_error_append(&b, &policy);
	assert_non_null(strstr(b.data, "\"org.isod.PolicyInvalid\""));
	b.len = 0;
	varlink_error_append(&b, &unknown);
	assert_non_null(strstr(b.data, "\"org.isod.Internal\""));
}

static void test_service_errors(void **state)
{
	static const struct {
		const char *name;
		const char *member;
		enum error_code code;
		const char *message;
	} cases[] = {
		{ "MethodNotFound", "method", ERROR_INVALID, "isod does not know the method a.B." },
		{ "MethodNotImplemented", "method", ERROR_INVALID, "isod does not offer the method a.B." },
		{ "InterfaceNotFound", "interface", ERROR_INVALID, "isod does not know the interface a.B." },
		{ "InvalidParameter", "parameter", ERROR_INVALID, "isod does not accept the parameter a.B." },
		{ "Strange", "x", ERROR_INTERNAL, "isod answered with the error org.varlink.service.Strange." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(4096);
		struct error e = ERROR_INIT;

		assert_int_equal(varlink_service_error_append(&b, cases[i].name, cases[i].member, "a.B"), 0);
		parse_error_reply(&b, &e);
		assert_int_equal(e.code, cases[i].code);
		assert_string_equal(e.message, cases[i].message);
	}
}

/* A peer that does not keep to the interface. */
static void test_foreign_errors(void **state)
{
	static const struct {
		const char *text;
		enum error_code code;
		int err;
		const char *message;
	} cases[] = {
		{ "{\"error\":\"com.example.Odd\"}", ERROR_INTERNAL, 0,
		  "isod answered with the error com.example.Odd." },
		{ "{\"error\":\"org.isod.None\"}", ERROR_INTERNAL, 0, "isod answered with the error org.isod.None." },
		{ "{\"error\":\"org.isod.New\"}", ERROR_INTERNAL, 0, "isod answered with the error org.isod.New." },
		{ "{\"error\":\"\"}", ERROR_INTERNAL, 0, "isod answered with the error ." },
		{ "{\"error\":\"org.isod.Refused\",\"parameters\":{\"message\":1,\"errno\":\"x\"}}", ERROR_REFUSED, 0,
		  "" },
		{ "{\"error\":\"org.isod.Refused\",\"parameters\":{\"errno\":-1}}", ERROR_REFUSED, 0, "" },
		{ "{\"error\":\"org.isod.Refused\",\"parameters\":{\"errno\":4294967297}}", ERROR_REFUSED, 0, "" },
		{ "{\"error\":\"org.isod.Refused\",\"parameters\":{\"message\":\"m\",\"errno\":13}}", ERROR_REFUSED, 13,
		  "m" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		struct varlink_reply reply;
		struct error e = ERROR_INIT;

		assert_int_equal(varlink_reply_parse(cases[i].text, strlen(cases[i].text), &d, &reply, NULL), 0);
		varlink_reply_error(&reply, &e);
		assert_int_equal(e.code, cases[i].code);
		assert_int_equal(e.err, cases[i].err);
		assert_string_equal(e.message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_short_reads),   cmocka_unit_test(test_frame_several),
		cmocka_unit_test(test_frame_bound),         cmocka_unit_test(test_call),
		cmocka_unit_test(test_call_refused),        cmocka_unit_test(test_method_name_bound),
		cmocka_unit_test(test_call_round_trip),     cmocka_unit_test(test_reply),
		cmocka_unit_test(test_message_fails_whole), cmocka_unit_test(test_error_round_trip),
		cmocka_unit_test(test_error_names),         cmocka_unit_test(test_service_errors),
		cmocka_unit_test(test_foreign_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
