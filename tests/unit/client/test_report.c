/* What a report is made of: foreign text in a page, facts of a log, what of a recording reaches a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "client/replay/replay_filter.h"
#include "client/report/html.h"
#include "client/report/page.h"

static void text_is_text(void **state)
{
	static const char *const cases[][2] = {
		{ "plain", "plain" },
		{ "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;" },
		{ "\" onload='x' &amp;", "&quot; onload=&#39;x&#39; &amp;amp;" },
		{ "a\x1b[2J\nb\xff", "a\\x1b[2J\\nb\\xff" },
		{ "\xe2\x80\xaeturned", "\\u{202e}turned" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT(4096);

		assert_int_equal(html_append_string(&out, cases[i][0]), 0);
		assert_int_equal(buffer_append(&out, "", 1), 0);
		assert_string_equal(out.data, cases[i][1]);
	}
}

static void what_reaches_the_terminal(void **state)
{
	static const char *const cases[][2] = {
		{ "a\x1b[31mred\x1b[0m\r\n", "a\x1b[31mred\x1b[0m\r\n" },
		{ "\x1b[?1049h\x1b[2;3H\x1b(B\x1b[2 q\x1b[!p", "\x1b[?1049h\x1b[2;3H\x1b(B\x1b[2 q\x1b[!p" },
		{ "a\x1b]0;title\x07"
		  "b\x1b]52;c;AAAA\x1b\\c",
		  "abc" },
		{ "a\x1bP1$q\x1b\\b\x1b_x\x1b\\c\x1b^y\x1b\\d\x1bXz\x1b\\e", "abcde" },
		{ "a\x1b[6n\x1b[c\x1b[>c\x1b[?1$p\x1b[>q\x1b[?u\x1b[18t\x1b[5i\x1bZ\x05"
		  "b",
		  "ab" },
		{ "a\xc2\x9b"
		  "6n\xc2\x9d"
		  "0;t\xc2\xa0z",
		  "a6n0;t\xc2\xa0z" },
		{ "a\x1b]0;never ended \x1b[31mb", "a\x1b[31mb" },
		{ "a\x1b[31\x1b[32mb", "a\x1b[32mb" },
		{ "\xe2\x82\xac\xc3\xa9", "\xe2\x82\xac\xc3\xa9" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = strlen(cases[i][0]);

		/* Cut in two at every place. */
		for (size_t first = 0; first <= n; first++) {
			_cleanup_buffer_ struct buffer out = BUFFER_INIT(4096);
			struct replay_filter f = { .n = 0 };

			assert_int_equal(replay_filter(&f, cases[i][0], first, &out), 0);
			assert_int_equal(replay_filter(&f, cases[i][0] + first, n - first, &out), 0);
			assert_int_equal(buffer_append(&out, "", 1), 0);
			assert_string_equal(out.data, cases[i][1]);
		}
	}
}

static void add(struct facts *f, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct facts *f, const char *format, ...)
{
	char line[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	assert_int_equal(facts_add(f, line, strlen(line)), 0);
}

/* Of many lines the first are kept and all are counted; the picture spans them. */
static void memory_is_bounded(void **state)
{
	struct facts *f = calloc(1, sizeof(*f));
	_cleanup_buffer_ struct buffer page = BUFFER_INIT(PAGE_MAX);
	uint64_t denied = 0, allowed = 0;

	add(f, "{\"time\":\"2026-01-01T00:00:00.000Z\",\"session\":\"<b>\",\"event\":\"session.start\",\"argv\":[\"<i>"
	       "\"]}");
	for (unsigned i = 0; i < 20000; i++)
		add(f,
		    "{\"time\":\"2026-01-01T%02u:%02u:%02u.000Z\",\"event\":\"connection\",\"verdict\":\"%s\",\"name\":"
		    "\"h%u.<u>\",\"port\":443,\"bytesUp\":2,\"bytesDown\":3,\"reason\":\"not-listed\"}",
		    i / 3600, i / 60 % 60, i % 60, i % 2 ? "allow" : "deny", i % 1000);
	add(f, "no JSON");
	assert_int_equal(f->n_hosts, FACTS_HOSTS);
	assert_true(f->others.allowed + f->others.denied > 0);
	assert_int_equal(f->lists[FACTS_REFUSALS].count, FACTS_ITEMS);
	assert_int_equal(f->lists[FACTS_REFUSALS].more, 10000 - FACTS_ITEMS);
	assert_int_equal(f->unreadable, 1);
	for (size_t i = 0; i < FACTS_BINS; i++) {
		allowed += f->bins[i].allowed;
		denied += f->bins[i].denied;
	}
	assert_int_equal(allowed, 10000);
	assert_int_equal(denied, 10000);
	assert_in_range(f->bin_ms * FACTS_BINS, 20000000, 2 * 20000000 + f->bin_ms);
	assert_int_equal(page_append(&page, f, NULL, NULL), 0);
	assert_int_equal(buffer_append(&page, "", 1), 0);
	assert_null(strstr(page.data, "<b>"));
	assert_null(strstr(page.data, "<i>"));
	assert_null(strstr(page.data, "<u>"));
	assert_non_null(strstr(page.data, "&lt;i&gt;"));
	assert_non_null(strstr(page.data, "And 9500 more."));
	facts_done(f);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_text),
		cmocka_unit_test(what_reaches_the_terminal),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
