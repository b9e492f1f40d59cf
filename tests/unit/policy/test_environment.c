/* Layer 0: the tables of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/environment.h"

typedef bool predicate(const char *text);

static void check(predicate *fn, const char *const *texts, size_t n, bool expected)
{
	for (size_t i = 0; i < n; i++)
		if (fn(texts[i]) != expected)
			fail_msg("\"%s\": not %d", texts[i], expected);
}

static bool valid(const char *name)
{
	return environment_name_is_valid(name, strlen(name));
}

static void names(void **state)
{
	static const char *const good[] = { "A", "_", "a", "_1", "PATH", "GH_TOKEN", "x9" };
	static const char *const bad[] = { "",    "1", "1A",  "A-B", "A B",           "A=B", "A=", "A.B",
					   "A\n", "é", "A%%", "A*",  "BASH_FUNC_x%%", "x()", "$A", "A\x7f" };

	check(valid, good, ARRAY_SIZE(good), true);
	check(valid, bad, ARRAY_SIZE(bad), false);
	assert_false(environment_name_is_valid("A\0B", 3));
	assert_true(environment_name_is_valid("AB=", 2));
}

static void passthrough(void **state)
{
	static const char *const good[] = {
		"HOME", "PATH", "SHELL",   "TERM",   "COLORTERM", "LANG",  "LC_ALL",          "LC_TIME",        "TZ",
		"USER", "PWD",  "LOGNAME", "EDITOR", "VISUAL",    "PAGER", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"
	};
	static const char *const bad[] = { "",
					   "HOMEX",
					   "HOM",
					   "home",
					   "LANGUAGE",
					   "LC",
					   "XDG",
					   "PATHEXT",
					   "DISPLAY",
					   "WAYLAND_DISPLAY",
					   "SSH_AUTH_SOCK",
					   "GH_TOKEN",
					   "LD_PRELOAD",
					   "LC_X=Y",
					   "XDG_A-B",
					   "TERM_PROGRAM",
					   "ISO_ALLOW",
					   "PYTHONPATH" };

	check(environment_passes, good, ARRAY_SIZE(good), true);
	check(environment_passes, bad, ARRAY_SIZE(bad), false);
}

static void injection(void **state)
{
	static const char *const good[] = {
		"LD_PRELOAD",
		"LD_LIBRARY_PATH",
		"LD_AUDIT",
		"DYLD_INSERT_LIBRARIES",
		"NODE_OPTIONS",
		"BASH_ENV",
		"ENV",
		"PYTHONSTARTUP",
		"PYTHONPATH",
		"PERL5OPT",
		"PERL5LIB",
		"RUBYOPT",
		"RUBYLIB",
		"GIT_SSH_COMMAND",
		"GIT_SSH",
		"GIT_CONFIG_COUNT",
		"GIT_CONFIG",
		"GIT_EXEC_PATH",
		"JAVA_TOOL_OPTIONS",
		"_JAVA_OPTIONS",
		"BASH_FUNC_ls%%",
		"PROMPT_COMMAND",
		"LESSOPEN",
		"GCONV_PATH",
		"npm_config_node",
		"ZDOTDIR",
		"GLIBC_TUNABLES",
		"IFS",
	};
	static const char *const bad[] = { "",     "LD",    "PATH",        "HOME",    "GH_TOKEN",
					   "ENVX", "MYENV", "XLD_PRELOAD", "GIT_DIR", "TERM" };

	check(environment_is_injection, good, ARRAY_SIZE(good), true);
	check(environment_is_injection, bad, ARRAY_SIZE(bad), false);
}

/* What passes unasked must never be able to run code by itself. */
static void unasked_is_harmless(void **state)
{
	static const char *const names[] = { "HOME", "PATH",   "SHELL",  "TERM",  "COLORTERM",
					     "LANG", "LC_ALL", "TZ",     "USER",  "LOGNAME",
					     "PWD",  "EDITOR", "VISUAL", "PAGER", "XDG_DATA_HOME" };

	check(environment_is_injection, names, ARRAY_SIZE(names), false);
	check(environment_is_credential, names, ARRAY_SIZE(names), false);
}

static void credentials(void **state)
{
	static const char *const good[] = {
		"GH_TOKEN",
		"GITHUB_TOKEN",
		"ANTHROPIC_API_KEY",
		"AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY",
		"AWS_PROFILE",
		"DB_PASSWORD",
		"PGPASSWORD",
		"MY_SECRET_THING",
		"npm_token",
		"OPENAI_APIKEY",
		"SSH_PRIVATE_KEY",
		"GOOGLE_APPLICATION_CREDENTIALS",
		"SSH_AUTH_SOCK",
		"DATABASE_URL",
	};
	static const char *const bad[] = { "", "PATH", "HOME", "CI", "KEYBOARD", "DEBUG", "AUTHOR" };

	check(environment_is_credential, good, ARRAY_SIZE(good), true);
	check(environment_is_credential, bad, ARRAY_SIZE(bad), false);
}

static void plain_commands(void **state)
{
	static const char *const good[] = {
		"vi",  "less -R",        "code --wait", "/usr/bin/vim", "emacsclient -nw -c", "less -x4,8 -i",
		"g++", "subl --opt=a:b", "./edit",      "vim.tiny"
	};
	static const char *const bad[] = { "",         " ",         " vi",   "vi ",      "vi  -R",
					   "-vi",      "sh -c id",  "vi;id", "vi|id",    "vi&",
					   "vi&&id",   "$(id)",     "`id`",  "vi $HOME", "vi\nid",
					   "vi\tid",   "vi>x",      "vi<x",  "A=b vi",   "vi -c ':!id'",
					   "vi \"x\"", "vi -c !id", "~/vi",  "vi *",     "vi ?",
					   "vi [a]",   "vi {a,b}",  "vi #x", "vi\\",     "é" };

	check(environment_value_is_plain_command, good, ARRAY_SIZE(good), true);
	check(environment_value_is_plain_command, bad, ARRAY_SIZE(bad), false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),       cmocka_unit_test(passthrough),
		cmocka_unit_test(injection),   cmocka_unit_test(unasked_is_harmless),
		cmocka_unit_test(credentials), cmocka_unit_test(plain_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
