#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/run/terminal_modes.h"

/* The reset after text, which is fed whole and then again byte by byte. */
static void check(const char *text, const char *expected)
{
	struct terminal_modes whole = TERMINAL_MODES_INIT, bytes = TERMINAL_MODES_INIT;
	struct buffer a = BUFFER_INIT(4096), b = BUFFER_INIT(4096);

	terminal_modes_feed(&whole, text, strlen(text));
	for (const char *at = text; *at; at++)
		terminal_modes_feed(&bytes, at, 1);
	assert_int_equal(terminal_modes_reset(&whole, &a), 0);
	assert_int_equal(terminal_modes_reset(&bytes, &b), 0);
	assert_int_equal(buffer_append(&a, "", 1), 0);
	assert_int_equal(buffer_append(&b, "", 1), 0);
	assert_string_equal(a.data, expected);
	assert_string_equal(b.data, expected);
	buffer_done(&a);
	buffer_done(&b);
}

static void test_nothing(void **state)
{
	check("", "");
	check("hello \x1b[31mred\x1b[0m\x1b[2J\x1b[12l", "");
}

static void test_left_on(void **state)
{
	check("\x1b[?1049h", "\x1b[?1049l");
	check("\x1b[?47hx\x1b[?1047h", "\x1b[?47l\x1b[?1047l");
	check("\x1b[?25l", "\x1b[?25h");
	check("\x1b[?1000;1002;1006h", "\x1b[?1000l\x1b[?1002l\x1b[?1006l");
	check("\x1b[?2004h\x1b[?1004h", "\x1b[?1004l\x1b[?2004l");
	check("\x1b=", "\x1b>");
	check("\x1b[>1u\x1b[>3u", "\x1b[<2u");
}

static void test_switched_off_again(void **state)
{
	check("\x1b[?1049h\x1b[?25l...\x1b[?25h\x1b[?1049l", "");
	check("\x1b[?1000;1006h\x1b[?1006;1000l", "");
	check("\x1b=\x1b>", "");
	check("\x1b[>1u\x1b[<u", "");
	check("\x1b[<9u", "");
	check("\x1b[?1049h\x1b[?25l\x1b=\x1b"
	      "c",
	      "");
	check("\x1b[?25l\x1b=\x1b[!p", "");
}

static void test_not_fooled(void **state)
{
	check("\x1b[1049h", "");                     /* no '?' */
	check("\x1b[?1049$p", "");                   /* a question */
	check("\x1b[?1049\x18h", "");                /* cancelled */
	check("\x1b]0;\x1b\\x", "");                 /* title, ended */
	check("\x1b]0;[?1049h\x07", "");             /* inside a title */
	check("\x1bP[?1049h\x1b\\", "");             /* inside a DCS */
	check("\x1b]0;t\x1b[?1049h", "\x1b[?1049l"); /* a sequence cancels the title */
	check("\x1b\x1b[?1049h", "\x1b[?1049l");
	check("\x1b[?4294967297049h", "");
	check("\x1b[?1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1049h", "\x1b[?1l");
}

static void test_cut(void **state)
{
	check("\x1b[?10", "\x18\x1b\\");
	check("\x1b[?25l\x1b]0;title", "\x18\x1b\\\x1b[?25h");
}

static void test_bound(void **state)
{
	struct terminal_modes m = TERMINAL_MODES_INIT;
	struct buffer out = BUFFER_INIT(4);

	terminal_modes_feed(&m, "\x1b[?1049h", 8);
	assert_true(terminal_modes_reset(&m, &out) < 0);
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_left_on),
		cmocka_unit_test(test_switched_off_again),
		cmocka_unit_test(test_not_fooled),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
