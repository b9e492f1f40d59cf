/* json_read(): what is accepted, what is refused and in which words. y_: accepted, n_: refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/limits.h"
#include "json/value.h"
#include "json/write.h"
#include "tests/unit/guard_page.h"

#define TEXT(s) s, sizeof(s) - 1

static int read_guarded(const char *text, size_t len, unsigned flags, struct json_document *d, struct error *e)
{
	struct guard_page g = guard_page_new(text, len);
	int r = json_read(g.data, len, flags, d, e);

	guard_page_done(&g);
	return r;
}

/* out: the compact form of what was read. */
static const struct {
	const char *text;
	size_t len;
	unsigned flags;
	const char *out;
} accepted[] = {
	{ TEXT("null"), 0, "null" },
	{ TEXT(" true\n"), 0, "true" },
	{ TEXT("0"), 0, "0" },
	{ TEXT("-0"), 0, "0" },
	{ TEXT("9223372036854775807"), 0, "9223372036854775807" },
	{ TEXT("-9223372036854775808"), 0, "-9223372036854775808" },
	{ TEXT("1.5"), 0, "1.5" },
	{ TEXT("1e2"), 0, "100.0" },
	{ TEXT("1E-2"), 0, "0.01" },
	{ TEXT("-0.0"), 0, "-0.0" },
	{ TEXT("1e-999"), 0, "0.0" },
	{ TEXT("1.7976931348623157e308"), 0, "1.7976931348623157e+308" },
	{ TEXT("0.1"), 0, "0.1" },
	{ TEXT("\"\""), 0, "\"\"" },
	{ TEXT("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\""), 0, "\"\\\"\\\\/\\b\\f\\n\\r\\t\xc3\xa9\"" },
	{ TEXT("\"\\ud83d\\ude00\""), 0, "\"\xf0\x9f\x98\x80\"" },
	{ TEXT("\"\\uD83D\\uDE00x\""), 0, "\"\xf0\x9f\x98\x80x\"" },
	{ TEXT("\"\xf0\x9f\x98\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\""), 0,
	  "\"\xf0\x9f\x98\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"" },
	{ TEXT("\"\\udc80x\\uDCFF\""), 0, "\"\\udc80x\\udcff\"" },
	{ TEXT("\"\\\\ud800\\\\u0000\""), 0, "\"\\\\ud800\\\\u0000\"" },
	{ TEXT("\"// no comment /* neither */\""), JSON_COMMENTS, "\"// no comment /* neither */\"" },
	{ TEXT("\"a\\\"// b\""), JSON_COMMENTS, "\"a\\\"// b\"" },
	{ TEXT("[]"), 0, "[]" },
	{ TEXT("{}"), 0, "{}" },
	{ TEXT("[1,[2,[]],{\"a\":{\"b\":[3]},\"c\":null}]"), 0, "[1,[2,[]],{\"a\":{\"b\":[3]},\"c\":null}]" },
	{ TEXT("{\"\":1}"), 0, "{\"\":1}" },
	{ TEXT("{\"b\":1,\"a\":2,\"ab\":3}"), 0, "{\"b\":1,\"a\":2,\"ab\":3}" },
	{ TEXT("{\"a\":{\"a\":{\"a\":1}}}"), 0, "{\"a\":{\"a\":{\"a\":1}}}" },
	{ TEXT("// first\n{ // \"a\": 0,\n /**/\"a\"/*x*/:/* * / ** */1/***/}//"), JSON_COMMENTS, "{\"a\":1}" },
	{ TEXT("1 // \\u0000 \\ud800 \"open"), JSON_COMMENTS, "1" },
};

static void test_accepted(void **state)
{
	for (size_t i = 0; i < sizeof(accepted) / sizeof(accepted[0]); i++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
		struct error e = ERROR_INIT;
		struct json_writer *w;

		if (read_guarded(accepted[i].text, accepted[i].len, accepted[i].flags, &d, &e) != 0)
			fail_msg("%s: %s", accepted[i].text, e.message);
		assert_int_equal(e.code, ERROR_NONE);
		w = json_write_new(&b);
		json_write_value(w, d.root);
		assert_int_equal(json_write_finish_terminated(w), 0);
		assert_string_equal(b.data, accepted[i].out);
	}
}

static const struct {
	const char *text;
	size_t len;
	unsigned flags;
	const char *step;
	const char *word; /* in the message */
} refused[] = {
	{ TEXT(""), 0, "line 1", "premature EOF" },
	{ TEXT("\n\n"), 0, "line 3", "premature EOF" },
	{ TEXT("["), 0, "line 1", "premature EOF" },
	{ TEXT("{\"a\":"), 0, "line 1", "premature EOF" },
	{ TEXT("\"abc"), 0, "line 1", "premature EOF" },
	{ TEXT("\"abc\\"), 0, "line 1", "occurs before a character" },
	{ TEXT("nul"), 0, "line 1", "invalid string" },
	{ TEXT("nulll"), 0, "line 1", "trailing garbage" },
	{ TEXT("{} {}"), 0, "line 1", "trailing garbage" },
	{ TEXT("1 2"), 0, "line 1", "trailing garbage" },
	{ TEXT("[1]\n\n]"), 0, "line 3", "trailing garbage" },
	{ TEXT("{}\0"), 0, "line 1", "NUL" },
	{ TEXT("[1,]"), 0, "line 1", "unallowed token" },
	{ TEXT("[1\n2]"), 0, "line 2", "after array element" },
	{ TEXT("{\"a\":1,}"), 0, "line 1", "object key" },
	{ TEXT("{a:1}"), 0, "line 1", "invalid char" },
	{ TEXT("{1:1}"), 0, "line 1", "object key" },
	{ TEXT("'a'"), 0, "line 1", "invalid char" },
	{ TEXT("[01]"), 0, "line 1", "after array element" },
	{ TEXT("+1"), 0, "line 1", "invalid char" },
	{ TEXT("[-]"), 0, "line 1", "malformed number" },
	{ TEXT("[1.]"), 0, "line 1", "malformed number" },
	{ TEXT("[.5]"), 0, "line 1", "invalid char" },
	{ TEXT("NaN"), 0, "line 1", "invalid char" },
	{ TEXT("[\n9223372036854775808]"), 0, "line 2", "9223372036854775808 does not fit 64 bits" },
	{ TEXT("-9223372036854775809"), 0, "line 1", "does not fit 64 bits" },
	{ TEXT("1e999"), 0, "line 1", "1e999 is too large" },
	{ TEXT("-1e999"), 0, "line 1", "too large" },
	{ TEXT("{\"a\":1,\n\"b\":2,\n\"a\":3\n}\n"), 0, "line 3", "\"a\" is there twice" },
	{ TEXT("{\"\\u0061\":1,\"a\":3}"), 0, "line 1", "\"a\" is there twice" },
	{ TEXT("{\"x\":{\"\\u001b[0m\":1,\"\\u001b[0m\":2}}"), 0, "line 1", "\"?[0m\" is there twice" },
	{ TEXT("{\"\":1,\"\":2}"), 0, "line 1", "\"\" is there twice" },
	{ TEXT("\"\\u0000\""), 0, "line 1", "NUL" },
	{ TEXT("{\"\\u0000\":1}"), 0, "line 1", "NUL" },
	{ TEXT("\"a\0b\""), 0, "line 1", "NUL" },
	{ TEXT("\"\\ud800\""), 0, "line 1", "lone surrogate" },
	{ TEXT("\"\\ud800x\""), 0, "line 1", "lone surrogate" },
	{ TEXT("\"\\ud800\\u0041\""), 0, "line 1", "lone surrogate" },
	{ TEXT("\"\\ud800\\ud800\""), 0, "line 1", "lone surrogate" },
	{ TEXT("\n\"\\udc00\""), 0, "line 2", "lone surrogate" },
	{ TEXT("\"\\udc7f\""), 0, "line 1", "lone surrogate" },
	{ TEXT("\"\\udd00\""), 0, "line 1", "lone surrogate" },
	{ TEXT("{\"\\udc80\":1}"), 0, "line 1", "name is not valid UTF-8" },
	{ TEXT("\"\\u12g4\""), 0, "line 1", "hex" },
	{ TEXT("\"\\x\""), 0, "line 1", "occurs before a character" },
	{ TEXT("\"a\nb\""), 0, "line 1", "invalid character inside string" },
	{ TEXT("\"\x80\""), 0, "line 1", "UTF-8" },
	{ TEXT("\n \"\xc3\""), 0, "line 2", "UTF-8" },
	{ TEXT("\"\xc0\xaf\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xe0\x80\xaf\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xf0\x80\x80\xaf\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xed\xa0\x80\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xed\xb2\x80\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xf4\x90\x80\x80\""), 0, "line 1", "UTF-8" },
	{ TEXT("\"\xf5\x80\x80\x80\""), 0, "line 1", "UTF-8" },
	{ TEXT("\xe2\x82"), 0, "line 1", "UTF-8" },
	{ TEXT("\xef\xbb\xbf{}"), 0, "line 1", "invalid char" },
	{ TEXT("{} // x"), 0, "line 1", "trailing garbage" },
	{ TEXT("/**/{}"), 0, "line 1", "comments are not enabled" },
	{ TEXT("{}\n/* open *"), JSON_COMMENTS, "line 2", "comment does not end" },
	{ TEXT("{} /*/"), JSON_COMMENTS, "line 1", "comment does not end" },
	{ TEXT("{} /"), JSON_COMMENTS, "line 1", "trailing garbage" },
	{ TEXT("// only"), JSON_COMMENTS, "line 1", "premature EOF" },
	{ TEXT("# x\n{}"), JSON_COMMENTS, "line 1", "invalid char" },
	{ TEXT("tr/**/ue"), JSON_COMMENTS, "line 1", "invalid string" },
	{ TEXT("1 // \xff"), JSON_COMMENTS, "line 1", "UTF-8" },
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct json_document d = { .root = (void *)1, .arena = (void *)2 };
		struct error e = ERROR_INIT;

		if (read_guarded(refused[i].text, refused[i].len, refused[i].flags, &d, &e) != -EBADMSG)
			fail_msg("%s: %s", refused[i].text, e.message);
		assert_int_equal(e.code, ERROR_INVALID);
		assert_string_equal(e.step, refused[i].step);
		if (!strstr(e.message, refused[i].word))
			fail_msg("%s: \"%s\" lacks \"%s\"", refused[i].text, e.message, refused[i].word);
		assert_int_equal(strncmp(e.message, e.step, strlen(e.step)), 0);
		assert_ptr_equal(d.root, (void *)1); /* untouched */
		assert_ptr_equal(d.arena, (void *)2);
		assert_int_equal(read_guarded(refused[i].text, refused[i].len, refused[i].flags, &d, NULL), -EBADMSG);
	}
}

static int read_repeated(const char *open, const char *item, const char *close, size_t n, struct json_document *d,
			 struct error *e)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(64 << 20);

	for (size_t i = 0; i < n; i++)
		assert_int_equal(buffer_append_string(&b, open), 0);
	assert_int_equal(buffer_append_string(&b, item), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(buffer_append_string(&b, close), 0);
	return json_read(b.data, b.len, 0, d, e);
}

static void test_depth(void **state)
{
	struct json_document d = JSON_DOCUMENT_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(read_repeated("[", "", "]", LIMIT_JSON_DEPTH, &d, NULL), 0);
	json_document_done(&d);
	assert_int_equal(read_repeated("{\"a\":", "1", "}", LIMIT_JSON_DEPTH, &d, NULL), 0);
	json_document_done(&d);
	assert_null(d.arena);
	assert_int_equal(read_repeated("[", "", "]", LIMIT_JSON_DEPTH + 1, &d, &e), -E2BIG);
	assert_int_equal(e.code, ERROR_LIMIT);
	assert_string_equal(e.message, "line 1: nested deeper than 32.");
	assert_int_equal(read_repeated("{\"a\":", "1", "}", LIMIT_JSON_DEPTH + 1, &d, NULL), -E2BIG);
	assert_int_equal(read_repeated("[", "", "", 1 << 20, &d, NULL), -E2BIG); /* cut short, not parsed on */
}

static void test_count(void **state)
{
	struct json_document d = JSON_DOCUMENT_INIT;
	struct error e = ERROR_INIT;

	/* the array itself is a value too */
	assert_int_equal(read_repeated("[", "", "]", 0, &d, NULL), -EBADMSG);
	for (size_t n = LIMIT_JSON_VALUES - 1; n <= LIMIT_JSON_VALUES; n++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(4 << 20);

		buffer_append_string(&b, "[0");
		for (size_t i = 1; i < n; i++)
			buffer_append_string(&b, ",0");
		buffer_append_string(&b, "]");
		if (n < LIMIT_JSON_VALUES) {
			assert_int_equal(json_read(b.data, b.len, 0, &d, &e), 0);
			assert_int_equal(d.root->array.count, n);
			json_document_done(&d);
		} else {
			assert_int_equal(json_read(b.data, b.len, 0, &d, &e), -E2BIG);
			assert_int_equal(e.code, ERROR_LIMIT);
			assert_string_equal(e.message, "line 1: more than 200000 values.");
		}
	}
}

static void test_size(void **state)
{
	static char text[LIMIT_MESSAGE + 1];
	struct json_document d = JSON_DOCUMENT_INIT;
	struct error e = ERROR_INIT;

	memset(text, ' ', sizeof(text));
	text[0] = '1';
	assert_int_equal(json_read(text, LIMIT_MESSAGE, 0, &d, &e), 0);
	json_document_done(&d);
	assert_int_equal(json_read(text, LIMIT_MESSAGE + 1, 0, &d, &e), -E2BIG);
	assert_int_equal(e.code, ERROR_LIMIT);
	memset(text, '1', 801);
	e.code = ERROR_NONE;
	assert_int_equal(json_read(text, 801, 0, &d, &e), -EBADMSG);
	assert_string_equal(e.message, "line 1: a number of 801 characters.");
}

/* 100,000 names: far from a second where looking for twins is sorted, minutes where each meets each. */
static void test_many_members(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(4 << 20);
	struct json_document d = JSON_DOCUMENT_INIT;
	struct timespec from, to;
	struct error e = ERROR_INIT;
	size_t len;

	buffer_append_string(&b, "{\n");
	for (int i = 0; i < 100000; i++)
		buffer_printf(&b, "\"k%06d\":%d,\n", i * 7919 % 100000, i);
	len = b.len;
	buffer_append_string(&b, "\"z\":1}");
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	assert_int_equal(json_read(b.data, b.len, 0, &d, &e), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_in_range(to.tv_sec - from.tv_sec, 0, 5);
	assert_int_equal(d.root->object.count, 100001);
	json_document_done(&d);
	b.len = len;
	buffer_append_string(&b, "\"k000000\":1}");
	assert_int_equal(json_read(b.data, b.len, 0, &d, &e), -EBADMSG);
	assert_string_equal(e.message, "line 100002: the member \"k000000\" is there twice.");
}

static void test_lines(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	const struct json_value *a, *b;

	assert_int_equal(
		json_read(TEXT("\n{ \"a\" :\n [ 1,\n\n 2 ],\n// c\n/*\n*/ \"b\": {\n} }"), JSON_COMMENTS, &d, NULL), 0);
	assert_int_equal(d.root->line, 2);
	a = json_get(d.root, "a");
	assert_int_equal(d.root->object.members[0].line, 2);
	assert_int_equal(a->line, 3);
	assert_int_equal(a->array.items[0].line, 3);
	assert_int_equal(a->array.items[1].line, 5);
	b = json_get(d.root, "b");
	assert_int_equal(d.root->object.members[1].line, 8);
	assert_int_equal(b->line, 8);
	assert_int_equal(b->object.count, 0);
}

static void test_last_number_line(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;

	assert_int_equal(json_read(TEXT("\n\n\n5"), 0, &d, NULL), 0);
	assert_int_equal(d.root->line, 4);
	assert_int_equal(d.root->integer, 5);
}

static void test_values(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;

	assert_int_equal(
		json_read(TEXT("{\"i\":-7,\"d\":2.5,\"t\":true,\"n\":null,\"s\":\"\\udcff\\u00e9\"}"), 0, &d, NULL), 0);
	assert_int_equal(json_get(d.root, "i")->type, JSON_INTEGER);
	assert_int_equal(json_get(d.root, "i")->integer, -7);
	assert_int_equal(json_get(d.root, "d")->type, JSON_DOUBLE);
	assert_true(json_get(d.root, "d")->number == 2.5);
	assert_true(json_get(d.root, "t")->boolean);
	assert_int_equal(json_get(d.root, "n")->type, JSON_NULL);
	assert_string_equal(json_get(d.root, "s")->string.data, "\xed\xb3\xbf\xc3\xa9");
	assert_int_equal(json_get(d.root, "s")->string.len, 5);
	assert_null(json_get(d.root, "x"));
	assert_null(json_get(json_get(d.root, "s"), "x"));
	assert_null(json_get(NULL, "x"));
	assert_string_equal(json_type_name(JSON_OBJECT), "an object");
	assert_string_equal(json_type_name(JSON_DOUBLE), "a fraction");
	assert_string_equal(json_type_name((enum json_type)99), "nothing known");
}

static void test_done_twice(void **state)
{
	struct json_document d = JSON_DOCUMENT_INIT;

	json_document_done(&d);
	assert_int_equal(json_read(TEXT("[[1]]"), 0, &d, NULL), 0);
	json_document_done(&d);
	json_document_done(&d);
	assert_null(d.root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_depth),    cmocka_unit_test(test_count),
		cmocka_unit_test(test_size),     cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_lines),    cmocka_unit_test(test_last_number_line),
		cmocka_unit_test(test_values),   cmocka_unit_test(test_done_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
