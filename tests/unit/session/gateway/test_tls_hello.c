#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/session/gateway/tls_hello.h"
#include "hello_make.h"

static uint8_t message[HELLO_MAX], records[HELLO_MAX * 7];

/* The bytes end where an unreadable page begins. */
static ssize_t parse_guarded(const uint8_t *data, size_t len, struct tls_hello *ret)
{
	static uint8_t *end;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 1 << 20;

	if (!end) {
		uint8_t *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(map != MAP_FAILED);
		assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
		end = map + room;
	}
	memcpy(end - len, data, len);
	return tls_hello_parse(end - len, len, ret);
}

static size_t make(const struct hello_make *m, size_t record)
{
	return hello_records(message, hello_message(m, message), record, records);
}

static void expect_name(size_t len, const char *name)
{
	struct tls_hello h;

	assert_int_equal(parse_guarded(records, len, &h), len);
	assert_true(h.has_name);
	assert_string_equal(h.name, name);
	assert_int_equal(h.name_len, strlen(name));
}

static void test_plain(void **state)
{
	struct hello_make m = { .name = "OK.Example." };
	struct tls_hello h;

	(void)state;
	expect_name(make(&m, 16384), "OK.Example.");
	m.name_last = 1;
	expect_name(make(&m, 16384), "OK.Example.");
	m.name = NULL;
	assert_true(parse_guarded(records, make(&m, 16384), &h) > 0);
	assert_false(h.has_name);
	m.no_extensions = 1;
	assert_true(parse_guarded(records, make(&m, 16384), &h) > 0);
	assert_false(h.has_name);
	m = (struct hello_make){ .name = "ok.example", .ech = 1 };
	expect_name(make(&m, 16384), "ok.example");
	assert_true(parse_guarded(records, make(&m, 16384), &h) > 0 && h.ech);
}

static void test_every_record_size(void **state)
{
	struct hello_make m = { .name = "ok.example" };
	size_t n = hello_message(&m, message);

	(void)state;
	for (size_t record = n / LIMIT_TLS_RECORDS + 1; record <= n; record++) {
		size_t len = hello_records(message, n, record, records);

		expect_name(len, "ok.example");
	}
	/* The first record holds all but one byte, or one byte only. */
	expect_name(hello_records(message, n, n - 1, records), "ok.example");
}

static void test_every_prefix_needs_more(void **state)
{
	static const size_t sizes[] = { 16384, 20, 7 };
	struct hello_make m = { .name = "ok.example" };
	struct tls_hello h;

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		size_t len = make(&m, sizes[s]);

		for (size_t i = 0; i < len; i++)
			assert_int_equal(parse_guarded(records, i, &h), 0);
	}
}

static void test_one_byte_records_are_too_many(void **state)
{
	struct hello_make m = { .name = "ok.example" };
	struct tls_hello h;

	(void)state;
	assert_int_equal(parse_guarded(records, make(&m, 1), &h), -EMSGSIZE);
}

static void test_large(void **state)
{
	struct hello_make m = { .name = "ok.example", .padding = 16 << 10 };
	struct tls_hello h;

	(void)state;
	expect_name(make(&m, 16384), "ok.example");
	m.padding = 60 << 10;
	expect_name(make(&m, 16384), "ok.example");
	m.padding = 65400;
	expect_name(make(&m, 16384), "ok.example");
	/* One more than LIMIT_TLS_HELLO is refused by its announced length alone. */
	memcpy(records + 6, "\x01\x00\x01", 3);
	assert_int_equal(parse_guarded(records, 9, &h), -EMSGSIZE);
}

static void test_what_follows_is_not_read(void **state)
{
	static const uint8_t after[] = { 0x14, 3, 3, 0, 1, 1, 0x17, 3, 3, 0, 2, 9, 9 };
	struct hello_make m = { .name = "ok.example" };
	size_t len = make(&m, 16384);
	struct tls_hello h;

	(void)state;
	memcpy(records + len, after, sizeof(after));
	assert_int_equal(parse_guarded(records, len + sizeof(after), &h), len);
	assert_string_equal(h.name, "ok.example");
}

static void test_longest_names(void **state)
{
	static char name[300];
	struct hello_make m = { .name = name };
	struct tls_hello h;

	(void)state;
	memset(name, 'a', sizeof(name));
	m.name_len = TLS_NAME_MAX;
	assert_true(parse_guarded(records, make(&m, 16384), &h) > 0);
	assert_int_equal(h.name_len, TLS_NAME_MAX);
	m.name_len = 255;
	assert_int_equal(parse_guarded(records, make(&m, 16384), &h), -EBADMSG);
	m.name_len = 256;
	assert_int_equal(parse_guarded(records, make(&m, 16384), &h), -EBADMSG);
}

static void test_bad_hellos(void **state)
{
	static const struct hello_make bad[] = {
		{ .name = "ok.example", .second_name = "evil.example" },
		{ .name = "ok.example", .second_name = "ok.example" },
		{ .name = "ok.example", .list_entries = 2 },
		{ .name = "ok.example", .name_type = 1 },
		{ .name = "ok.example", .list_error = 1 },
		{ .name = "ok.example", .list_error = -1 },
		{ .name = "ok.example", .extension_error = 1 },
		{ .name = "ok.example", .extension_error = -1 },
		{ .name = "ok.example", .extension_error = 5000 },
		{ .name = "ok.example", .name_error = 1 },
		{ .name = "ok.example", .name_error = -1 },
		{ .name = "ok.example", .name_error = -10 },
		{ .name = "ok.example", .name_error = 300 },
		{ .name = "ok.example", .total_error = 1 },
		{ .name = "ok.example", .total_error = -1 },
		{ .name = "ok.example", .name_last = 1, .name_error = 1 },
		{ .name = "ok.example", .name_last = 1, .total_error = 1 },
	};
	struct tls_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		for (size_t record = 16384; record > 8; record /= 4) {
			ssize_t r = parse_guarded(records, make(&bad[i], record), &h);

			if (r != -EBADMSG)
				fail_msg("hello %zu in records of %zu: %zd", i, record, r);
		}
}

static void test_bad_records(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
		int expected;
	} cases[] = {
		{ 0, 'C', -EPROTO },   { 0, 0x17, -EPROTO }, { 0, 0x80, -EPROTO },   { 1, 2, -EPROTO },
		{ 3, 0x7f, -EBADMSG }, { 5, 2, -EBADMSG },   { 6, 0xff, -EMSGSIZE }, { 9, 2, -EBADMSG },
		{ 43, 33, -EBADMSG },  { 77, 3, -EBADMSG },  { 77, 0, -EBADMSG },    { 82, 0, -EBADMSG },
	};
	struct hello_make m = { .name = "ok.example" };
	struct tls_hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = make(&m, 16384);
		ssize_t r;

		records[cases[i].at] = cases[i].value;
		r = parse_guarded(records, len, &h);
		if (r != cases[i].expected)
			fail_msg("case %zu: %zd", i, r);
	}
	/* An empty record, and another type in the middle. */
	assert_int_equal(parse_guarded((const uint8_t[]){ 0x16, 3, 1, 0, 0 }, 5, &h), -EBADMSG);
	make(&m, 20);
	records[25] = 0x15;
	assert_int_equal(parse_guarded(records, 26, &h), -EBADMSG);
}

static void test_alert(void **state)
{
	uint8_t alert[TLS_ALERT_LEN];

	(void)state;
	tls_hello_alert(TLS_ALERT_ACCESS_DENIED, alert);
	assert_memory_equal(alert, "\x15\x03\x03\x00\x02\x02\x31", 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_every_record_size),
		cmocka_unit_test(test_every_prefix_needs_more),
		cmocka_unit_test(test_one_byte_records_are_too_many),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_what_follows_is_not_read),
		cmocka_unit_test(test_longest_names),
		cmocka_unit_test(test_bad_hellos),
		cmocka_unit_test(test_bad_records),
		cmocka_unit_test(test_alert),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
