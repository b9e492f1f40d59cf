/* The text of a configuration file, as git itself reads it (tests/system/test_git_config.py compares with git). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "git/git_config.h"
#include "tests/unit/guard_page.h"

static struct git_config config;

/* "section|subsection|key|value\n"..., then the result where it is an error. NULL value: "(true)". */
static const char *read_all(const char *text, size_t len)
{
	static char out[65536];
	struct guard_page page = guard_page_new(text, len);
	struct git_config_entry entry;
	size_t n = 0;
	int r;

	git_config_begin(&config, page.data, len);
	out[0] = '\0';
	while ((r = git_config_next(&config, &entry)) > 0)
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%s|%s|%s|%s\n", entry.section, entry.subsection,
				      entry.key, entry.value ? entry.value : "(true)");
	if (r < 0)
		snprintf(out + n, sizeof(out) - n, "%s at %u", r == -EBADMSG ? "bad" : "too long", config.line);
	/* An error stays. */
	assert_int_equal(git_config_next(&config, &entry), r);
	guard_page_done(&page);
	return out;
}

static void expect(const char *text, const char *wanted)
{
	assert_string_equal(read_all(text, strlen(text)), wanted);
}

static void plain(void **state)
{
	expect("", "");
	expect("[core]\n\tbare = false\n", "core||bare|false\n");
	expect("[core]bare=true", "core||bare|true\n");
	expect("[user]\n\tname = A  B \n\temail=a@b\n", "user||name|A  B\nuser||email|a@b\n");
	expect("[a]\nk\n[b]\nk=\n", "a||k|(true)\nb||k|\n");
	expect("[a]\n# c\n; c\n  \n\tk = v # c\n\tl = v; c\n", "a||k|v\na||l|v\n");
	expect("\xef\xbb\xbf[a]\r\nk = v\r\n", "a||k|v\n");
	expect("k = v\n", "||k|v\n");
}

static void names(void **state)
{
	expect("[CoRe]\nHooksPath = X\n", "core||hookspath|X\n");
	expect("[branch \"Main\"]\nremote=o\n", "branch|Main|remote|o\n");
	expect("[branch.Main.X]\nremote=o\n", "branch|main.x|remote|o\n");
	expect("[a.B \"C\"]\nk=1\n", "a|b.C|k|1\n");
	expect("[url   \"x\\\"y\\\\z\\w\"]k=1\n", "url|x\"y\\zw|k|1\n");
	expect("[s]\nk1-x = 1\n", "s||k1-x|1\n");
}

static void values(void **state)
{
	expect("[a]\nk = \"  x ; # \" \n", "a||k|  x ; # \n");
	expect("[a]\nk = a\"b\"c\n", "a||k|abc\n");
	expect("[a]\nk = a\\\n  b\\\n", "a||k|a  b\n");
	expect("[a]\nk = a\\\r\nb\r\n", "a||k|ab\n");
	expect("[a]\nk = \\t\\\"\\\\\n", "a||k|\t\"\\\n");
	expect("[a]\nk = x \\\n\n", "a||k|x\n");
	expect("[a]\nk = \\b\n", "a||k|\b\n");
	expect("[a]\nk = a\"\" \n", "a||k|a\n");
	expect("[a]\nk = v\\\n[b]\n", "a||k|v[b]\n");
}

static void bad(void **state)
{
	static const char *const texts[] = { "[a",           "[a\n]",        "[]\n",           "[a b]\n",
					     "[a \"b]\n",    "[a \"b\" ]\n", "[a \"b\nc\"]\n", "[a_b]\n",
					     "[a]\nk v\n",   "[a]\nk ; c\n", "[a]\n1k=v\n",    "[a]\n=v\n",
					     "[a]\nk=\"v\n", "[a]\nk=\\x\n", "[a]\nk=\\",      "[a]\n-\n",
					     "\x01",         "[a \"b\\",     "[a]\nk=\"a\\\n" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strncmp(read_all(texts[i], strlen(texts[i])), "bad at", 6) != 0)
			fail_msg("%s: %s", texts[i], read_all(texts[i], strlen(texts[i])));
	assert_string_equal(read_all("[a]\nk=a\0b\n", 10), "bad at 2");
	assert_string_equal(read_all("[a \"\0\"]\n", 8), "bad at 1");
	expect("[a]\nk=1\n]\n", "a||k|1\nbad at 3");
}

static void bounds(void **state)
{
	static char text[GIT_CONFIG_VALUE_MAX + 64];
	size_t n;

	for (size_t i = 0; i < 2; i++) {
		n = (size_t)snprintf(text, sizeof(text), "[a]\nk=");
		memset(text + n, 'x', GIT_CONFIG_VALUE_MAX - 1 + i);
		n += GIT_CONFIG_VALUE_MAX - 1 + i;
		assert_int_equal(strncmp(read_all(text, n), i ? "too long at 2" : "a||k|x", 6), 0);
	}
	memset(text, 'k', sizeof(text));
	assert_string_equal(read_all(text, GIT_CONFIG_NAME_MAX), "too long at 1");
	text[0] = '[';
	assert_string_equal(read_all(text, GIT_CONFIG_NAME_MAX + 1), "too long at 1");
	memcpy(text, "[a \"", 4);
	assert_string_equal(read_all(text, GIT_CONFIG_SUBSECTION_MAX + 5), "too long at 1");
}

static void booleans(void **state)
{
	assert_int_equal(git_config_bool(NULL), 1);
	assert_int_equal(git_config_bool("Yes"), 1);
	assert_int_equal(git_config_bool("on"), 1);
	assert_int_equal(git_config_bool(""), 0);
	assert_int_equal(git_config_bool("FALSE"), 0);
	assert_int_equal(git_config_bool("maybe"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain), cmocka_unit_test(names),  cmocka_unit_test(values),
		cmocka_unit_test(bad),   cmocka_unit_test(bounds), cmocka_unit_test(booleans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
