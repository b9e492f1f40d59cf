/* Raw frames: byte by byte, with every size that is right or wrong for its type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "proto/stream.h"
#include "tests/unit/guard_page.h"

static long parse_guarded(const void *data, size_t len, struct stream_frame *ret)
{
	struct guard_page g = guard_page_new(data, len);
	long r = stream_parse((const uint8_t *)g.data, len, ret);

	guard_page_done(&g);
	return r;
}

static void test_layout(void **state)
{
	static const uint8_t resize[] = { 2, 0, 0, 0, 4, 0, 0, 0, 0x18, 0, 0x2c, 0x01 };
	static const uint8_t exited[] = { 19, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x44, 0x33, 0x22, 0x11 };
	static const uint8_t stopped[] = { 18, 0, 0, 0, 4, 0, 0, 0, 20, 0, 0, 0 };
	static const uint8_t out[] = { 16, 0, 0, 0, 2, 0, 0, 0, 'h', 'i' };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);

	assert_int_equal(stream_append_u16_u16(&b, STREAM_RESIZE, 24, 300), 0);
	assert_int_equal(b.len, sizeof(resize));
	assert_memory_equal(b.data, resize, sizeof(resize));
	b.len = 0;
	assert_int_equal(stream_append_u32_u32(&b, STREAM_EXIT, 1, 0x11223344), 0);
	assert_int_equal(b.len, sizeof(exited));
	assert_memory_equal(b.data, exited, sizeof(exited));
	b.len = 0;
	assert_int_equal(stream_append_u32(&b, STREAM_STOPPED, 20), 0);
	assert_memory_equal(b.data, stopped, sizeof(stopped));
	b.len = 0;
	assert_int_equal(stream_append(&b, STREAM_STDOUT, "hi", 2), 0);
	assert_int_equal(b.len, sizeof(out));
	assert_memory_equal(b.data, out, sizeof(out));
	assert_int_equal(stream_u16(resize + 10), 300);
	assert_true(stream_u32(exited + 12) == 0x11223344);
	assert_true(stream_u32((const uint8_t *)"\xff\xff\xff\xff") == UINT32_MAX);
}

/* Three frames, given one byte more at a time: nothing is taken before it is whole. */
static void test_short_reads(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1024);
	struct stream_frame f;
	size_t at = 0;
	int frames = 0;

	stream_append(&b, STREAM_STDIN, "text", 4);
	stream_append(&b, STREAM_STDIN, NULL, 0);
	stream_append_u32(&b, STREAM_SIGNAL, 2);
	for (size_t len = 0; len <= b.len; len++) {
		long r = parse_guarded(b.data + at, len - at, &f);

		assert_in_range(r, 0, len - at);
		if (r == 0)
			continue;
		assert_int_equal(r, len - at);
		assert_int_equal(f.len, r - STREAM_HEADER);
		assert_int_equal(f.type, frames == 2 ? STREAM_SIGNAL : STREAM_STDIN);
		at += r;
		frames++;
	}
	assert_int_equal(frames, 3);
	assert_int_equal(at, b.len);
	assert_int_equal(stream_parse((uint8_t *)b.data, b.len, &f), 12); /* only the first */
	assert_memory_equal(f.payload, "text", 4);
}

static void test_sizes(void **state)
{
	static const struct {
		uint8_t type;
		uint32_t min;
		uint32_t max;
	} types[] = {
		{ STREAM_STDIN, 0, LIMIT_FRAME },
		{ STREAM_RESIZE, 4, 4 },
		{ STREAM_SIGNAL, 4, 4 },
		{ STREAM_CONTINUE, 0, 0 },
		{ STREAM_STDOUT, 0, LIMIT_FRAME },
		{ STREAM_STDERR, 0, LIMIT_FRAME },
		{ STREAM_STOPPED, 4, 4 },
		{ STREAM_EXIT, 8, 8 },
		{ STREAM_LATE, 8, 8 + LIMIT_PATH },
		{ STREAM_DETACH, 0, 0 },
		{ STREAM_ROLE, 8, 8 },
		{ STREAM_DETACHED, 4, 4 },
		{ STREAM_SIZE, 4, 4 },
	};
	static const uint32_t lengths[] = {
		0, 1, 3, 4, 5, 7, 8, 9, 8 + LIMIT_PATH, 9 + LIMIT_PATH, LIMIT_FRAME, LIMIT_FRAME + 1, UINT32_MAX
	};
	static uint8_t payload[LIMIT_FRAME + 1];

	for (unsigned type = 0; type < 256; type++) {
		size_t row = 0;

		while (row < sizeof(types) / sizeof(types[0]) && types[row].type != type)
			row++;
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			bool good = row < sizeof(types) / sizeof(types[0]) && lengths[k] >= types[row].min &&
				    lengths[k] <= types[row].max;
			_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_FRAME + STREAM_HEADER);
			uint8_t header[STREAM_HEADER];
			struct stream_frame f;
			long r;

			stream_header((uint8_t)type, lengths[k], header);
			r = parse_guarded(header, sizeof(header), &f);
			assert_int_equal(r, !good ? -EBADMSG : lengths[k] == 0 ? STREAM_HEADER : 0);
			if (lengths[k] > sizeof(payload))
				continue;
			assert_int_equal(stream_append(&b, (uint8_t)type, payload, lengths[k]), good ? 0 : -EINVAL);
			assert_int_equal(b.len, good ? lengths[k] + STREAM_HEADER : 0);
		}
	}
}

static void test_bad_headers(void **state)
{
	struct stream_frame f = { .type = 77 };

	for (size_t i = 1; i <= 3; i++) {
		uint8_t header[STREAM_HEADER];

		stream_header(STREAM_CONTINUE, 0, header);
		header[i] = 1;
		assert_int_equal(parse_guarded(header, sizeof(header), &f), -EBADMSG);
	}
	assert_int_equal(f.type, 77);
}

static void test_whole_or_nothing(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(20);

	assert_int_equal(stream_append(&b, STREAM_STDOUT, "1234567890123", 13), -EMSGSIZE);
	assert_int_equal(b.len, 0);
	assert_int_equal(stream_append(&b, STREAM_STDOUT, "123456789012", 12), 0);
	assert_int_equal(stream_append_u32(&b, STREAM_STOPPED, 1), -EMSGSIZE);
	assert_int_equal(b.len, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_layout),
		cmocka_unit_test(test_short_reads),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_bad_headers),
		cmocka_unit_test(test_whole_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
