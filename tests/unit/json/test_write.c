/* The writer: its text, its sticking errors, and that nothing is left behind where it fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/value.h"
#include "json/write.h"

static void test_text(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
	struct json_writer *w;

	buffer_append_string(&b, "before");
	w = json_write_new(&b);
	json_write_object(w);
	json_write_member_string(w, "s", "a\"b\\c\n\x1f\xc3\xa9/");
	json_write_member_integer(w, "min", INT64_MIN);
	json_write_member_integer(w, "max", INT64_MAX);
	json_write_member_bool(w, "t", true);
	json_write_key(w, "list");
	json_write_array(w);
	json_write_null(w);
	json_write_bool(w, false);
	json_write_object(w);
	json_write_object_end(w);
	json_write_bytes(w,
			 "x\xff"
			 "cut",
			 2);
	json_write_bytes(w, NULL, 0);
	json_write_array_end(w);
	json_write_object_end(w);
	assert_int_equal(json_write_finish(w), 0);
	buffer_append_u8(&b, 0);
	assert_string_equal(b.data,
			    "before{\"s\":\"a\\\"b\\\\c\\n\\u001F\xc3\xa9/\",\"min\":-9223372036854775808,"
			    "\"max\":9223372036854775807,\"t\":true,\"list\":[null,false,{},\"x\\udcff\",\"\"]}");
}

/* The same text whether or not a bad byte follows it. */
static void test_same_escapes(void **state)
{
	char all[0x80 + 1];
	_cleanup_buffer_ struct buffer plain = BUFFER_INIT(2048), escaped = BUFFER_INIT(2048);
	struct json_writer *w = json_write_new(&plain);

	for (int i = 1; i < 0x80; i++)
		all[i - 1] = (char)i;
	all[0x7f] = (char)0xff;
	json_write_bytes(w, all, 0x7f);
	assert_int_equal(json_write_finish(w), 0);
	w = json_write_new(&escaped);
	json_write_bytes(w, all, 0x80);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(escaped.len, plain.len + 6);
	assert_memory_equal(escaped.data, plain.data, plain.len - 1);
}

/* Each letter is a call; a trailing error is expected. */
static int write_calls(const char *calls, struct buffer *b)
{
	struct json_writer *w = json_write_new(b);

	for (; *calls; calls++) {
		switch (*calls) {
		case '{':
			json_write_object(w);
			break;
		case '}':
			json_write_object_end(w);
			break;
		case '[':
			json_write_array(w);
			break;
		case ']':
			json_write_array_end(w);
			break;
		case 'k':
			json_write_key(w, "key");
			break;
		case 'K':
			json_write_key(w, "\xff");
			break;
		case '1':
			json_write_integer(w, 1);
			break;
		case 's':
			json_write_string(w, "text");
			break;
		case 'b':
			json_write_bytes(w, "\xff", 1);
			break;
		case '0':
			json_write_bytes(w, "\0", 1);
			break;
		default:
			fail();
		}
	}
	return json_write_finish(w);
}

static void test_nesting(void **state)
{
	static const char *const wrong[] = {
		"",    "{",    "[",   "[1",   "{k",   "{k1", "}",     "]",     "[}",   "{]",   "{k}",   "{1}",
		"{s",  "{b",   "{[]", "{{}}", "[k1]", "k1",  "{kk1}", "11",    "{}{}", "[]1",  "1}",    "[1]]",
		"{}}", "{K1}", "0",   "[0]",  "{k1k", "[[]", "{k{}",  "{k[}]", "{k[]", "[{]}", "{k1}1",
	};
	static const char *const right[] = {
		"1", "s", "b", "{}", "[]", "{k1}", "[11]", "{kb}", "{k{k[s{}[]]}}", "[bb]"
	};
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);

	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		b.len = 0;
		assert_int_equal(write_calls(right[i], &b), 0);
		assert_true(b.len > 0);
	}
	b.len = 0;
	buffer_append_string(&b, "before");
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (write_calls(wrong[i], &b) != -EINVAL)
			fail_msg("%s", wrong[i]);
		assert_int_equal(b.len, strlen("before"));
	}
}

static void test_depth(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(4096);
	char calls[201];

	for (int depth = 36; depth <= 37; depth++) {
		memset(calls, '[', depth);
		memset(calls + depth, ']', depth);
		calls[2 * depth] = '\0';
		b.len = 0;
		assert_int_equal(write_calls(calls, &b), depth == 36 ? 0 : -EINVAL);
	}
}

static void test_bound_sticks(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(20);
	struct json_writer *w;

	buffer_append_string(&b, "before");
	w = json_write_new(&b);
	json_write_array(w);
	json_write_string(w, "sixteen letters!");
	json_write_integer(w, 1); /* would fit again */
	json_write_array_end(w);
	json_write_array_end(w); /* a later error of another kind */
	assert_int_equal(json_write_finish(w), -EMSGSIZE);
	assert_int_equal(b.len, 6);
	b.len = 6;
	w = json_write_new(&b);
	json_write_string(w, "twelve bytes");
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(b.len, b.max);
	b.len = 6;
	w = json_write_new(&b);
	json_write_string(w, "twelve bytes"); /* fits, its NUL does not */
	assert_int_equal(json_write_finish_terminated(w), -EMSGSIZE);
	assert_int_equal(b.len, 6);
}

static void test_no_memory(void **state)
{
	const struct json_value v = { .type = JSON_NULL };

	json_write_object(NULL);
	json_write_key(NULL, "a");
	json_write_string(NULL, "a");
	json_write_bytes(NULL, "\xff", 1);
	json_write_value(NULL, &v);
	json_write_member_integer(NULL, "a", 1);
	json_write_object_end(NULL);
	assert_int_equal(json_write_finish(NULL), -ENOMEM);
	assert_int_equal(json_write_finish_terminated(NULL), -ENOMEM);
}

static void test_bad_values(void **state)
{
	const struct json_value infinite = { .type = JSON_DOUBLE, .number = INFINITY };
	/* no tree of the reader's holds such a string */
	const struct json_value raw = { .type = JSON_STRING, .string = { .data = "\xff", .len = 1 } };
	const struct json_value *const values[] = { &infinite, &raw };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(100);

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		struct json_writer *w = json_write_new(&b);

		json_write_value(w, values[i]);
		assert_int_equal(json_write_finish(w), -EINVAL);
		assert_int_equal(b.len, 0);
	}
}

static void test_long_bytes(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(8 * (size_t)LIMIT_MESSAGE);
	_cleanup_free_ char *data = malloc(LIMIT_MESSAGE + 1);
	struct json_writer *w = json_write_new(&b);

	assert_non_null(data);
	memset(data, 0xff, LIMIT_MESSAGE + 1);
	json_write_bytes(w, data, LIMIT_MESSAGE);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(b.len, 6 * (size_t)LIMIT_MESSAGE + 2);
	b.len = 0;
	w = json_write_new(&b);
	json_write_bytes(w, data, LIMIT_MESSAGE + 1);
	assert_int_equal(json_write_finish(w), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),         cmocka_unit_test(test_same_escapes),
		cmocka_unit_test(test_nesting),      cmocka_unit_test(test_depth),
		cmocka_unit_test(test_bound_sticks), cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_bad_values),   cmocka_unit_test(test_long_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
