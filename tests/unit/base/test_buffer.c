/* Buffers and cursors: growth, the bound, and reading back what was written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "tests/unit/guard_page.h"

static void test_bound(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(300);
	static const char data[301];

	assert_int_equal(buffer_append(&b, data, 301), -EMSGSIZE);
	assert_int_equal(b.len, 0);
	assert_int_equal(buffer_append(&b, data, 257), 0); /* 256 doubled would pass the bound */
	assert_int_equal(b.size, 300);
	assert_int_equal(buffer_append(&b, data, 44), -EMSGSIZE);
	assert_int_equal(b.len, 257);
	assert_int_equal(buffer_append(&b, data, 43), 0);
	assert_int_equal(buffer_append(&b, NULL, 0), 0);
	assert_int_equal(buffer_append_u8(&b, 1), -EMSGSIZE);
	assert_int_equal(buffer_reserve(&b, SIZE_MAX), -EMSGSIZE); /* the sum wraps */
	assert_int_equal(b.len, 300);
}

static void test_consume(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(100);

	buffer_append_string(&b, "abcdef");
	buffer_consume(&b, 0);
	assert_int_equal(b.len, 6);
	buffer_consume(&b, 2);
	assert_int_equal(b.len, 4);
	assert_memory_equal(b.data, "cdef", 4);
	buffer_consume(&b, 5);
	assert_int_equal(b.len, 0);
	buffer_consume(&b, 1);
	assert_int_equal(b.len, 0);
}

static void test_printf(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(8);

	assert_int_equal(buffer_printf(&b, "%d-%s", 12, "abc"), 0);
	assert_int_equal(b.len, 6);
	assert_int_equal(buffer_printf(&b, "%s", "de"), -EMSGSIZE); /* no room for printf's own NUL */
	assert_int_equal(b.len, 6);
	assert_int_equal(buffer_printf(&b, "%s", "d"), 0);
	assert_memory_equal(b.data, "12-abcd", 7);
}

static void test_done(void **state)
{
	struct buffer b = BUFFER_INIT(8);

	buffer_done(&b);
	buffer_append_string(&b, "a");
	buffer_done(&b);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	assert_int_equal(buffer_append_string(&b, "b"), 0); /* usable again */
	buffer_done(&b);
}

static void test_layout(void **state)
{
	static const uint8_t bytes[] = { 0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04, 0x0f, 0x0e, 0x0d, 0x0c,
					 0x0b, 0x0a, 0x09, 0x08, 0x02, 0x00, 0x00, 0x00, 'h',  'i' };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(100);

	buffer_append_u8(&b, 0x01);
	buffer_append_u16(&b, 0x0203);
	buffer_append_u32(&b, 0x04050607);
	buffer_append_u64(&b, 0x08090a0b0c0d0e0f);
	buffer_append_block(&b, "hi", 2);
	assert_int_equal(b.len, sizeof(bytes));
	assert_memory_equal(b.data, bytes, sizeof(bytes));
}

static void test_cursor(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(100);
	struct guard_page g;
	struct cursor c;
	const uint8_t *block;
	const char *text;
	uint64_t u64;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;
	size_t len;

	buffer_append_u8(&b, 0xfe);
	buffer_append_u16(&b, 0xfedc);
	buffer_append_u32(&b, 0xfedcba98);
	buffer_append_u64(&b, UINT64_MAX - 1);
	buffer_append_block(&b, "a\0b", 3);
	buffer_append_block(&b, "", 0);
	buffer_append_block(&b, "text", 5);
	g = guard_page_new(b.data, b.len);
	c = (struct cursor){ (uint8_t *)g.data, (uint8_t *)g.data + b.len };
	assert_int_equal(cursor_u8(&c, &u8), 0);
	assert_int_equal(u8, 0xfe);
	assert_int_equal(cursor_u16(&c, &u16), 0);
	assert_int_equal(u16, 0xfedc);
	assert_int_equal(cursor_u32(&c, &u32), 0);
	assert_true(u32 == 0xfedcba98);
	assert_int_equal(cursor_u64(&c, &u64), 0);
	assert_true(u64 == UINT64_MAX - 1);
	assert_int_equal(cursor_block(&c, 3, &block, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(block, "a\0b", 3);
	assert_int_equal(cursor_block(&c, 0, &block, &len), 0);
	assert_int_equal(len, 0);
	assert_int_equal(cursor_string(&c, 5, &text), 0);
	assert_string_equal(text, "text");
	assert_ptr_equal(c.at, c.end);
	assert_int_equal(cursor_u8(&c, &u8), -EBADMSG);
	guard_page_done(&g);
}

/* Every cut of a number: refused, the output left alone, and all reads after it refused as well. */
static void test_cursor_short(void **state)
{
	static const uint8_t zeros[8];

	for (size_t n = 0; n < 8; n++) {
		struct guard_page g = guard_page_new(zeros, n);
		struct cursor c = { (uint8_t *)g.data, (uint8_t *)g.data + n };
		uint64_t u64 = 7;
		uint8_t u8 = 7;

		assert_int_equal(cursor_u64(&c, &u64), -EBADMSG);
		assert_int_equal(u64, 7);
		assert_int_equal(cursor_u8(&c, &u8), -EBADMSG);
		assert_int_equal(u8, 7);
		guard_page_done(&g);
	}
}

static const struct {
	const char *data;
	size_t n;
	size_t max;
	int block; /* results */
	int string;
} blocks[] = {
	{ "\2\0\0\0a\0", 6, 2, 0, 0 },
	{ "\2\0\0\0a\0", 6, 1, -EBADMSG, -EBADMSG },                /* past max */
	{ "\3\0\0\0a\0", 6, 9, -EBADMSG, -EBADMSG },                /* past the end */
	{ "\377\377\377\377a\0", 6, SIZE_MAX, -EBADMSG, -EBADMSG }, /* far past it */
	{ "\2\0\0", 3, 9, -EBADMSG, -EBADMSG },                     /* no length */
	{ "\0\0\0\0", 4, 9, 0, -EBADMSG },                          /* no NUL */
	{ "\2\0\0\0ab", 6, 9, 0, -EBADMSG },                        /* no NUL */
	{ "\3\0\0\0a\0\0", 7, 9, 0, -EBADMSG },                     /* one too many */
	{ "\1\0\0\0\0", 5, 9, 0, 0 },                               /* empty */
};

static void test_cursor_blocks(void **state)
{
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
		struct guard_page g = guard_page_new(blocks[i].data, blocks[i].n);
		const uint8_t *start = (uint8_t *)g.data, *end = start + blocks[i].n, *block;
		struct cursor c = { start, end }, s = { start, end };
		const char *text;
		uint8_t u8;
		size_t len;

		assert_int_equal(cursor_block(&c, blocks[i].max, &block, &len), blocks[i].block);
		assert_int_equal(cursor_string(&s, blocks[i].max, &text), blocks[i].string);
		if (blocks[i].block == 0)
			assert_ptr_equal(c.at, end);
		else
			assert_int_equal(cursor_u8(&c, &u8), -EBADMSG);
		if (blocks[i].string < 0)
			assert_int_equal(cursor_block(&s, 9, &block, &len), -EBADMSG);
		guard_page_done(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bound),        cmocka_unit_test(test_consume),
		cmocka_unit_test(test_printf),       cmocka_unit_test(test_done),
		cmocka_unit_test(test_layout),       cmocka_unit_test(test_cursor),
		cmocka_unit_test(test_cursor_short), cmocka_unit_test(test_cursor_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
