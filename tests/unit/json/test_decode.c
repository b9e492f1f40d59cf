/* Decode tables: every type filled, and every refusal names the place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/decode.h"

struct inner {
	const char *name;
	int64_t n;
};

struct outer {
	bool flag;
	int64_t number;
	const char *string;
	const char *bytes;
	struct json_strings words;
	struct json_strings blobs;
	struct inner one;
	bool has_one;
	struct json_objects many;
	const struct json_value *any;
	bool has_any;
};

static const struct json_field inner_fields[] = {
	{ "name", JSON_FIELD_STRING, offsetof(struct inner, name), .required = true },
	{ "n", JSON_FIELD_INTEGER, offsetof(struct inner, n), .min = -1, .max = 9 },
};
static const struct json_schema inner = { "Inner", sizeof(struct inner), inner_fields, ARRAY_SIZE(inner_fields) };

#define AT(member) offsetof(struct outer, member)
static const struct json_field outer_fields[] = {
	{ "flag", JSON_FIELD_BOOL, AT(flag), .required = true },
	{ "number", JSON_FIELD_INTEGER, AT(number), .min = -5, .max = 5 },
	{ "string", JSON_FIELD_STRING, AT(string), .max = 4 },
	{ "bytes", JSON_FIELD_BYTES, AT(bytes), .max = 4 },
	{ "words", JSON_FIELD_STRING_ARRAY, AT(words), .max = 2 },
	{ "blobs", JSON_FIELD_BYTES_ARRAY, AT(blobs) },
	{ "one", JSON_FIELD_OBJECT, AT(one), .schema = &inner, .present_offset = AT(has_one) },
	{ "many", JSON_FIELD_OBJECT_ARRAY, AT(many), .max = 3, .schema = &inner },
	{ "any", JSON_FIELD_ANY, AT(any), .present_offset = AT(has_any) },
};
static const struct json_schema outer = { "Outer", sizeof(struct outer), outer_fields, ARRAY_SIZE(outer_fields) };

static int decode(const char *text, struct json_document *d, struct outer *ret, struct json_decoded *decoded,
		  struct error *e)
{
	assert_int_equal(json_read(text, strlen(text), 0, d, e), 0);
	return json_decode(d->root, &outer, "parameters", ret, decoded, e);
}

static void test_all_types(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	struct error e = ERROR_INIT;
	const struct inner *many;
	struct outer o;

	memset(&o, 0xaa, sizeof(o));
	assert_int_equal(decode("{\"flag\":true,\"number\":-5,\"string\":\"\xc3\xa9xy\",\"bytes\":\"\\udcff\xc3\xa9z\","
				"\"words\":[\"a\",\"b\"],\"blobs\":[\"\",\"\\udc80\"],\"one\":{\"name\":\"x\",\"n\":9},"
				"\"many\":[{\"name\":\"p\"},{\"n\":-1,\"name\":\"q\"}],\"any\":[1]}",
				&d, &o, &decoded, &e),
			 0);
	assert_true(o.flag);
	assert_int_equal(o.number, -5);
	assert_string_equal(o.string, "\xc3\xa9xy");
	assert_string_equal(o.bytes, "\xff\xc3\xa9z");
	assert_int_equal(o.words.count, 2);
	assert_string_equal(o.words.items[0], "a");
	assert_string_equal(o.words.items[1], "b");
	assert_null(o.words.items[2]);
	assert_int_equal(o.blobs.count, 2);
	assert_string_equal(o.blobs.items[0], "");
	assert_string_equal(o.blobs.items[1], "\x80");
	assert_null(o.blobs.items[2]);
	assert_true(o.has_one);
	assert_string_equal(o.one.name, "x");
	assert_int_equal(o.one.n, 9);
	assert_int_equal(o.many.count, 2);
	many = o.many.items;
	assert_string_equal(many[0].name, "p");
	assert_int_equal(many[0].n, 0);
	assert_string_equal(many[1].name, "q");
	assert_int_equal(many[1].n, -1);
	assert_true(o.has_any);
	assert_int_equal(o.any->array.count, 1);
}

static void assert_empty(const struct outer *o)
{
	assert_int_equal(o->number, 0);
	assert_null(o->string);
	assert_null(o->bytes);
	assert_null(o->words.items);
	assert_int_equal(o->words.count, 0);
	assert_false(o->has_one);
	assert_null(o->one.name);
	assert_null(o->many.items);
	assert_int_equal(o->many.count, 0);
}

static void test_optional(void **state)
{
	static const char *const texts[] = {
		"{\"flag\":false}",
		"{\"flag\":false,\"number\":null,\"string\":null,\"bytes\":null,\"words\":null,\"blobs\":null,\"one\":"
		"null,"
		"\"many\":null}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
		struct outer o;

		memset(&o, 0xaa, sizeof(o));
		assert_int_equal(decode(texts[i], &d, &o, &decoded, NULL), 0);
		assert_false(o.flag);
		assert_empty(&o);
		assert_null(o.any);
		assert_false(o.has_any);
	}
}

static void test_any_null(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	struct outer o;

	assert_int_equal(decode("{\"flag\":false,\"any\":null,\"words\":[],\"many\":[]}", &d, &o, &decoded, NULL), 0);
	assert_true(o.has_any);
	assert_int_equal(o.any->type, JSON_NULL);
	assert_non_null(o.words.items);
	assert_null(o.words.items[0]);
	assert_int_equal(o.many.count, 0);
}

#define F "{\"flag\":true,"
static const struct {
	const char *text;
	const char *step;
	const char *message;
} refused[] = {
	{ "1", "parameters", "parameters must be an object, not an integer." },
	{ "{}", "parameters.flag", "parameters.flag is missing." },
	{ "{\"flag\":null}", "parameters.flag", "parameters.flag must be a boolean, not null." },
	{ "{\"flag\":1}", "parameters.flag", "parameters.flag must be a boolean, not an integer." },
	{ F "\"nope\":1}", "parameters.nope", "parameters.nope is not known here." },
	{ F "\"Flag\":1}", "parameters.Flag", "parameters.Flag is not known here." },
	{ F "\"\\u001b[2J\":1}", "parameters.?[2J", "parameters.?[2J is not known here." },
	{ F "\"number\":6}", "parameters.number", "parameters.number must be from -5 to 5." },
	{ F "\"number\":-6}", "parameters.number", "parameters.number must be from -5 to 5." },
	{ F "\"number\":1.0}", "parameters.number", "parameters.number must be an integer, not a fraction." },
	{ F "\"number\":\"1\"}", "parameters.number", "parameters.number must be an integer, not a string." },
	{ F "\"string\":\"12345\"}", "parameters.string", "parameters.string is longer than 4 bytes." },
	{ F "\"string\":\"\\udcff\"}", "parameters.string", "parameters.string must be valid UTF-8." },
	{ F "\"string\":[]}", "parameters.string", "parameters.string must be a string, not an array." },
	{ F "\"bytes\":\"abcd\\udcff\"}", "parameters.bytes", "parameters.bytes is longer than 4 bytes." },
	{ F "\"bytes\":\"\\udcc3\\udca9\"}", "parameters.bytes",
	  "parameters.bytes holds an escaped byte that needs no escape." },
	{ F "\"bytes\":{}}", "parameters.bytes", "parameters.bytes must be a string, not an object." },
	{ F "\"words\":\"a\"}", "parameters.words", "parameters.words must be an array, not a string." },
	{ F "\"words\":[\"a\",\"b\",\"c\"]}", "parameters.words", "parameters.words has more than 2 items." },
	{ F "\"words\":[\"a\",null]}", "parameters.words[1]", "parameters.words[1] must be a string, not null." },
	{ F "\"words\":[\"\\udc80\"]}", "parameters.words[0]", "parameters.words[0] must be valid UTF-8." },
	{ F "\"blobs\":[\"a\",\"b\",\"\\udce2\\udc82\\udcac\"]}", "parameters.blobs[2]",
	  "parameters.blobs[2] holds an escaped byte that needs no escape." },
	{ F "\"one\":[]}", "parameters.one", "parameters.one must be an object, not an array." },
	{ F "\"one\":{}}", "parameters.one.name", "parameters.one.name is missing." },
	{ F "\"one\":{\"name\":\"a\",\"n\":10}}", "parameters.one.n", "parameters.one.n must be from -1 to 9." },
	{ F "\"many\":{}}", "parameters.many", "parameters.many must be an array, not an object." },
	{ F "\"many\":[{\"name\":\"a\"},7]}", "parameters.many[1]",
	  "parameters.many[1] must be an object, not an integer." },
	{ F "\"many\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":true}]}", "parameters.many[2].name",
	  "parameters.many[2].name must be a string, not a boolean." },
	{ F "\"many\":[{\"name\":\"a\",\"x\":1}]}", "parameters.many[0].x", "parameters.many[0].x is not known here." },
	{ F "\"many\":[{},{},{},{}]}", "parameters.many", "parameters.many has more than 3 items." },
};

static void test_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		struct json_decoded decoded = { .arena = (void *)1 };
		struct error e = ERROR_INIT;
		struct outer o;

		memset(&o, 0xaa, sizeof(o));
		assert_int_equal(decode(refused[i].text, &d, &o, &decoded, &e), -EINVAL);
		assert_int_equal(e.code, ERROR_INVALID);
		assert_string_equal(e.step, refused[i].step);
		assert_string_equal(e.message, refused[i].message);
		assert_ptr_equal(decoded.arena, (void *)1); /* untouched, and nothing of a half-filled struct is left */
		assert_empty(&o);
		json_document_done(&d);
		assert_int_equal(decode(refused[i].text, &d, &o, &decoded, NULL), -EINVAL);
	}
}

/* Two fields whose bounds are the defaults. */
struct defaults {
	const char *text;
	struct json_strings items;
};

static const struct json_field defaults_fields[] = {
	{ "text", JSON_FIELD_BYTES, offsetof(struct defaults, text) },
	{ "items", JSON_FIELD_STRING_ARRAY, offsetof(struct defaults, items) },
};
static const struct json_schema defaults = { "Defaults", sizeof(struct defaults), defaults_fields,
					     ARRAY_SIZE(defaults_fields) };

static void test_default_bounds(void **state)
{
	static struct json_value items[65537];
	static char text[4098];
	struct json_member member = { .name = "text", .value = { .type = JSON_STRING } };
	const struct json_value v = { .type = JSON_OBJECT, .object = { .members = &member, .count = 1 } };
	struct json_decoded decoded = JSON_DECODED_INIT;
	struct error e = ERROR_INIT;
	struct defaults out;

	memset(text, 'a', sizeof(text) - 1);
	member.value.string.data = text + 1;
	member.value.string.len = 4096;
	assert_int_equal(json_decode(&v, &defaults, "p", &out, &decoded, &e), 0);
	json_decoded_done(&decoded);
	member.value.string.data = text;
	member.value.string.len = 4097;
	assert_int_equal(json_decode(&v, &defaults, "p", &out, &decoded, &e), -EINVAL);
	assert_string_equal(e.message, "p.text is longer than 4096 bytes.");
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		items[i] = (struct json_value){ .type = JSON_STRING, .string = { .data = "x", .len = 1 } };
	member = (struct json_member){ .name = "items", .value = { .type = JSON_ARRAY } };
	member.value.array.items = items;
	member.value.array.count = 65536;
	assert_int_equal(json_decode(&v, &defaults, "p", &out, &decoded, &e), 0);
	assert_int_equal(out.items.count, 65536);
	json_decoded_done(&decoded);
	member.value.array.count = 65537;
	e.code = ERROR_NONE;
	assert_int_equal(json_decode(&v, &defaults, "p", &out, &decoded, &e), -EINVAL);
	assert_string_equal(e.message, "p.items has more than 65536 items.");
}

/* A name longer than the report: cut, terminated, no more. */
static void test_long_path(void **state)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct json_decoded decoded = JSON_DECODED_INIT;
	struct error e = ERROR_INIT;
	struct outer o;

	assert_int_equal(json_read("{\"x\":1}", 7, 0, &d, NULL), 0);
	assert_int_equal(
		json_decode(d.root, &outer,
			    "a.very.long.place.of.much.more.than.can.be.told.in.one.line.of.a.report.of.ours.or.even."
			    "of.others.so.that.it.must.be.cut",
			    &o, &decoded, &e),
		-EINVAL);
	assert_in_range(strlen(e.step), 10, sizeof(e.step) - 1);
	assert_int_equal(strncmp(e.step, "a.very.long", 11), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_types), cmocka_unit_test(test_optional),
		cmocka_unit_test(test_any_null),  cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_path), cmocka_unit_test(test_default_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
