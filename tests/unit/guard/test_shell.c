/* guard/shell_*: quotes, expansions, grammar; what is not shell; bounds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/limits.h"
#include "tests/unit/guard/explained.h"
#include "tests/unit/guard_page.h"

static const struct {
	const char *line, *commands;
} lines[] = {
	{ "", "" },
	{ "# git push", "" },
	{ "g''it \"pu\"sh \\x '' \"\"", "[git][push][x][][]\n" },
	{ "$'\\x67it' $'\\160ush' $'\\u00e9' $'a\\0b'", "[git][push][\303\251][a]\n" },
	{ "git \\\npush", "[git][push]\n" },
	{ "gi\\\nt push", "[git][push]\n" },
	{ "{git,push} a{1..3} {x,{y,z}}1 {a,}'' {b {c}", "[git][push][a1][a2][a3][x1][y1][z1][a][][{b][{c}]\n" },
	{ "echo {01..3} {c..a} {1..9..4} {a..b", "[echo][01][02][03][c][b][a][1][5][9][{a..b]\n" },
	{ "git${IFS}push$IFS x", "[git][push][x]\n" },
	{ "IFS=_; $c git${IFS}x", "IFS=_ \n[?]*[?]*\n" },
	{ "$x \"$y\" a$z \"$@\" $1", "[?]*[?][?]*[?]*[?]*\n" },
	{ "$(echo git) push", "[echo][git]\n[?]*[push]\n" },
	{ "echo `a \\`b\\``", "[b]\n[a][?]*\n[echo][?]*\n" },
	{ "g*t push; echo *", "[?]*[push]\n[echo][*]\n" },
	{ "~/b ~root/c x=~/y:~/z \"~/q\"", "[/home/u/b][?][x=/home/u/y:/home/u/z][~/q]\n" },
	{ "A=1 B=$x C+=2 d[1]=3 e=(1 $(f)) git push", "[f]\nA=1 B=? C=? d=? e=? [git][push]\n" },
	{ "a;b&c|d&&e||f\ng", "[a]\n[b]\n[c]\n[d]\n[e]\n[f]\n[g]\n" },
	{ "(a; (b)); { c; }; ! d; time -p e", "[a]\n[b]\n[c]\n[d]\n[e]\n" },
	{ "if a; then b; elif c; then d; else e; fi >f", "[a]\n[b]\n[c]\n[d]\n[e]\n" },
	{ "while a; do b; done; until c; do d; done", "[a]\n[b]\n[c]\n[d]\n" },
	{ "for i in x $(a); do b; done; for j; do c; done; for ((i=0;i<$(d);i++)); do e; done",
	  "[a]\n[b]\n[c]\n[d]\n[e]\n" },
	{ "case $(a) in (x|y ) b;; *) c;& z) ;; esac", "[a]\n[b]\n[c]\n" },
	{ "f() { a; }; function g { b; }; function h() (c)", "[a]\n[b]\n[c]\n" },
	{ "[[ -f $(a) && $x =~ ^(b|c)$ ]] && d", "[a]\n[d]\n" },
	{ "((x = $(a))); echo $((1 + $(b))) $[ c[$(d)] ]", "[a]\n[b]\n[d]\n[echo][?]*[?]*\n" },
	{ "$((a) ; b)", "[a]\n[b]\n[?]*\n" },
	{ "a <(b) >(c) 2>&1 >d <$(e) &>f {fd}>g", "[b]\n[c]\n[e]\n[a][?][?]\n" },
	{ "echo ${x:-$(a)} \"${y:-`b`}\"", "[a]\n[b]\n[echo][?]*[?]\n" },
	{ "cat <<E\n$(a) \\$(no) `b`\nE\nc", "[cat] <<?\n[a]\n[b]\n[c]\n" },
	{ "cat <<'E'\n$(no)\nE\nc", "[cat] <<$(no)\n\n[c]\n" },
	{ "sh <<-E <<<x\n\ta\n\tE\nc", "[sh] <<x\n\n[c]\n" },
	{ "git commit -m \"$(cat <<'E'\none\ntwo\nE\n)\"", "[cat] <<one\ntwo\n\n[git][commit][-m][one\ntwo]\n" },
	{ "git commit -m \"$(a; cat <<'E'\none\nE\n)\"", "[a]\n[cat] <<one\n\n[git][commit][-m][?]\n" },
	{ "coproc a; coproc N { b; }", "[a]\n[b]\n" },
	{ "echo if then; x=1 if", "[echo][if][then]\nx=1 [if]\n" },
	{ ">a b", "[b]\n" },
};

static void test_lines(void **state)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strcmp(explained(lines[i].line, false), lines[i].commands) != 0)
			fail_msg("%s: %s", lines[i].line, explained(lines[i].line, false));
}

static void test_what_is_no_shell(void **state)
{
	static const char *const texts[] = { "a 'b",       "a \"b",    "a `b",        "a $(b", "a ${b",   ")",
					     "}",          "fi",       "a &&",        "a |",   "; a",     "a ;; b",
					     "if a; then", "if a; fi", "( )",         "{ }",   "for",     "case x",
					     "a <",        "a <<",     "while a; do", "[[ a",  "a | ! b", "f() a",
					     "a $((1",     "x=(1",     "a & ; b" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *found = explained(texts[i], false);

		assert_non_null(strstr(found, "error"));
	}
	/* What stands before the fault is found. */
	assert_string_equal(explained("git push; )", false), "[git][push]\nerror");
}

static int parsed(const char *text, size_t len)
{
	_cleanup_shell_script_ struct shell_script script = SHELL_SCRIPT_INIT;

	return shell_parse(&script, text, len, NULL, 0, 0);
}

static int repeated(const char *unit, size_t times, const char *after)
{
	size_t n = strlen(unit), m = strlen(after);
	char *text = malloc(n * times + m + 1);
	int r;

	assert_non_null(text);
	for (size_t i = 0; i < times; i++)
		memcpy(text + n * i, unit, n);
	memcpy(text + n * times, after, m + 1);
	r = parsed(text, n * times + m);
	free(text);
	return r;
}

/* Each of them would take a quadratic or exponential reader minutes, or a recursive one its stack. */
static void test_bounds(void **state)
{
	assert_int_equal(repeated("$(", 100000, ""), -E2BIG);
	assert_int_equal(repeated("$((", 100000, ""), -E2BIG);
	assert_int_equal(repeated("((", 20, "x"), -EBADMSG);
	assert_int_equal(repeated("$((", 20, "x"), -EBADMSG);
	assert_int_equal(repeated("{ ", 100000, ""), -E2BIG);
	assert_int_equal(repeated("{", 10000, ""), 0);
	assert_int_equal(repeated("{a,b}", 100, ""), -E2BIG);
	assert_int_equal(repeated("{1..999999999}", 1, ""), -E2BIG);
	assert_int_equal(repeated("{1..500000}$x", 1000, ""), -E2BIG);
	assert_int_equal(repeated("(( # ((((\n a) )\n", 60000, ""), -E2BIG);
	assert_int_equal(repeated("a;", 500000, ""), 0);
	assert_int_equal(repeated("a ", 400000, ""), 0);
	assert_int_equal(repeated("<<a ", 10000, ""), 0);
	assert_int_equal(repeated("x", LIMIT_SHELL_TEXT + 1, ""), -E2BIG);
	assert_int_equal(parsed("a\0b", 3), -EBADMSG);
}

static void test_nothing_past_the_end(void **state)
{
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		for (size_t n = 0; n <= strlen(lines[i].line); n++) {
			struct guard_page page = guard_page_new(lines[i].line, n);

			(void)parsed(page.data, n);
			guard_page_done(&page);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_what_is_no_shell),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_nothing_past_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
