/* Byte strings through JSON and back: json/bytes.h, the writer, the reader, the escapes of messages. */
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
#include "json/bytes.h"
#include "json/printable.h"
#include "json/value.h"
#include "json/write.h"

/* Writes one JSON string; terminated. */
static void write_bytes(struct buffer *b, const char *data, size_t len)
{
	struct json_writer *w = json_write_new(b);

	json_write_bytes(w, data, len);
	assert_int_equal(json_write_finish_terminated(w), 0);
}

/* JSON text of one string -> bytes on the heap. */
static long read_bytes(const char *text, char **ret)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct error e = ERROR_INIT;

	if (json_read(text, strlen(text), 0, &d, &e) < 0)
		fail_msg("%s: %s", text, e.message);
	assert_int_equal(d.root->type, JSON_STRING);
	*ret = malloc(d.root->string.len + 1);
	assert_non_null(*ret);
	return json_bytes_decode(d.root->string.data, d.root->string.len, *ret);
}

/* python: json.dumps(os.fsdecode(bytes)); ours: what the writer makes of the bytes. */
static const struct {
	const char *bytes;
	const char *python;
	const char *ours;
} samples[] = {
	{ "", "\"\"", "\"\"" },
	{ "plain", "\"plain\"", "\"plain\"" },
	{ "caf\xc3\xa9", "\"caf\\u00e9\"", "\"caf\xc3\xa9\"" },
	{ "caf\xe9", "\"caf\\udce9\"", "\"caf\\udce9\"" },
	{ "\xff\xfe", "\"\\udcff\\udcfe\"", "\"\\udcff\\udcfe\"" },
	{ "\xe2\x82", "\"\\udce2\\udc82\"", "\"\\udce2\\udc82\"" },
	{ "\xe2\x82\xe2\x82\xac", "\"\\udce2\\udc82\\u20ac\"", "\"\\udce2\\udc82\xe2\x82\xac\"" },
	{ "\xed\xa0\x80", "\"\\udced\\udca0\\udc80\"", "\"\\udced\\udca0\\udc80\"" },
	{ "\xed\xb2\x80", "\"\\udced\\udcb2\\udc80\"", "\"\\udced\\udcb2\\udc80\"" },
	{ "\xc0\xaf", "\"\\udcc0\\udcaf\"", "\"\\udcc0\\udcaf\"" },
	{ "\xf0\x9f\x98\x80\x80", "\"\\ud83d\\ude00\\udc80\"", "\"\xf0\x9f\x98\x80\\udc80\"" },
	{ "\xf4\x90\x80\x80", "\"\\udcf4\\udc90\\udc80\\udc80\"", "\"\\udcf4\\udc90\\udc80\\udc80\"" },
	{ "a\"\\\n\x01\x7f\xb5/", "\"a\\\"\\\\\\n\\u0001\\u007f\\udcb5/\"", "\"a\\\"\\\\\\n\\u0001\x7f\\udcb5/\"" },
	{ "\xc3(", "\"\\udcc3(\"", "\"\\udcc3(\"" },
};

static void test_samples(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
		_cleanup_free_ char *from_python = NULL, *from_ours = NULL;

		write_bytes(&b, samples[i].bytes, strlen(samples[i].bytes));
		assert_string_equal(b.data, samples[i].ours);
		assert_int_equal(read_bytes(samples[i].python, &from_python), strlen(samples[i].bytes));
		assert_string_equal(from_python, samples[i].bytes);
		assert_int_equal(read_bytes(b.data, &from_ours), strlen(samples[i].bytes));
		assert_string_equal(from_ours, samples[i].bytes);
	}
}

/* A small generator of our own: the same bytes on every machine. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Bytes that often make whole or nearly whole sequences. */
static size_t random_bytes(uint32_t *seed, char *ret, size_t max)
{
	static const char leads[] = "\xc2\xc3\xdf\xe0\xe2\xed\xef\xf0\xf4\xf5\xc0";
	size_t n = next_random(seed) % max;

	for (size_t i = 0; i < n; i++) {
		switch (next_random(seed) % 4) {
		case 0:
			ret[i] = leads[next_random(seed) % (sizeof(leads) - 1)];
			break;
		case 1:
			ret[i] = (char)(0x80 + next_random(seed) % 0x40);
			break;
		default:
			ret[i] = (char)(1 + next_random(seed) % 255);
			break;
		}
	}
	return n;
}

/* Back as it was, and no two byte strings have one form: else one of them would not come back. */
static void test_round_trip(void **state)
{
	uint32_t seed = 1;
	char bytes[64];

	for (int i = 0; i < 50000; i++) {
		size_t n = random_bytes(&seed, bytes, sizeof(bytes));
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024), copy = BUFFER_INIT(1024);
		_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
		struct json_writer *w;
		char back[256];

		write_bytes(&b, bytes, n);
		assert_int_equal(json_read(b.data, b.len - 1, 0, &d, NULL), 0);
		assert_in_range(d.root->string.len, 0, sizeof(back) - 1);
		assert_int_equal(json_bytes_decode(d.root->string.data, d.root->string.len, back), n);
		assert_memory_equal(back, bytes, n);
		assert_int_equal(back[n], 0);
		w = json_write_new(&copy);
		json_write_value(w, d.root);
		assert_int_equal(json_write_finish_terminated(w), 0);
		assert_string_equal(copy.data, b.data);
	}
}

/* Every short sequence of escapes either is what the writer makes of the bytes, or is refused. */
static void test_one_spelling(void **state)
{
	static const uint8_t interesting[] = { 0x80, 0x82, 0x90, 0x9f, 0xa0, 0xac, 0xbf, 0xc0, 0xc2,
					       0xc3, 0xe0, 0xe2, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff };
	const size_t n = sizeof(interesting);
	size_t refused = 0;

	for (size_t k = 0; k < n * n * n; k++) {
		const uint8_t bytes[3] = { interesting[k % n], interesting[k / n % n], interesting[k / n / n] };
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(64), text = BUFFER_INIT(64);
		_cleanup_free_ char *back = NULL;
		long r;

		buffer_printf(&text, "\"\\udc%02x\\udc%02x\\udc%02x\"", bytes[0], bytes[1], bytes[2]);
		buffer_append_u8(&text, 0);
		r = read_bytes(text.data, &back);
		write_bytes(&b, (const char *)bytes, sizeof(bytes));
		if (strcmp(b.data, text.data) == 0) {
			assert_int_equal(r, 3);
			assert_memory_equal(back, bytes, 3);
		} else {
			assert_int_equal(r, -EINVAL);
			refused++;
		}
	}
	assert_in_range(refused, 100, n * n * n / 2);
}

static void test_decode_refuses(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} cases[] = {
		{ "a\0b", 3 },
		{ "\xff", 1 },
		{ "\xed\xa0\x80", 3 },                         /* U+D800 */
		{ "\xed\xb1\xbf", 3 },                         /* U+DC7F */
		{ "\xed\xb4\x80", 3 },                         /* U+DD00 */
		{ "\xed\xb2", 2 },                             /* cut */
		{ "\xed\xb3\x83\xed\xb2\xa9", 6 },             /* c3 a9 */
		{ "x\xed\xb3\x83\xed\xb2\xa9y", 8 },           /* in the middle */
		{ "\xed\xb3\xbf\xed\xb3\x83\xed\xb2\xa9", 9 }, /* after one that is right */
	};
	char out[32];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(json_bytes_decode(cases[i].text, cases[i].len, out), -EINVAL);
}

static void test_decode_in_place(void **state)
{
	char text[] = "a\xed\xb3\xbf\xc3\xa9\xed\xb2\x80";

	assert_int_equal(json_bytes_decode(text, strlen(text), text), 5);
	assert_string_equal(text, "a\xff\xc3\xa9\x80");
	text[0] = 'b';
	assert_int_equal(json_bytes_decode(text, 0, text), 0);
	assert_string_equal(text, "");
}

static void test_printable(void **state)
{
	char long_name[201];
	struct json_printable p;

	assert_string_equal(json_printable("plain \xc3\xa9").text, "plain \xc3\xa9");
	assert_string_equal(json_printable("\x1b[1m\n\x7f\xc2\x9b\xed\xb2\x80\xff").text, "?[1m?????");
	assert_string_equal(json_printable("a\xe2\x80\xae"
					   "b\xe2\x81\xa6"
					   "c\xe2\x80\xa8")
				    .text,
			    "a?b?c?");
	assert_string_equal(json_printable("\xe2\x80\xa7\xe2\x82\xac").text, "\xe2\x80\xa7\xe2\x82\xac");
	memset(long_name, 'a', sizeof(long_name));
	long_name[sizeof(long_name) - 1] = '\0';
	p = json_printable(long_name);
	assert_in_range(strlen(p.text), 60, JSON_PRINTABLE_MAX - 1);
	assert_string_equal(p.text + strlen(p.text) - 4, "a...");
	for (size_t i = 0; i + 2 < sizeof(long_name); i += 2) /* a cut never divides a character */
		memcpy(long_name + i, "\xc3\xa9", 2);
	p = json_printable(long_name);
	assert_string_equal(p.text + strlen(p.text) - 5, "\xc3\xa9...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),         cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_one_spelling),    cmocka_unit_test(test_decode_refuses),
		cmocka_unit_test(test_decode_in_place), cmocka_unit_test(test_printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
