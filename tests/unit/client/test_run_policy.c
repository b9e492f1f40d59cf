#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/run/run_policy.h"
#include "policy/policy.h"

static void check(const struct run_options *o, const char *expected)
{
	struct buffer out = BUFFER_INIT(65536);
	struct error e = ERROR_INIT;
	struct policy_input input = { .layer = POLICY_COMMAND_LINE, .path = "command line" };
	struct policy policy = { 0 };

	assert_int_equal(run_policy_write(o, "/cwd", &out, &e), 1);
	input.text = out.data;
	input.len = out.len;
	/* What is written is a policy. */
	assert_int_equal(policy_load(&input, 1, &policy, &e), 0);
	policy_done(&policy);
	assert_int_equal(buffer_append(&out, "", 1), 0);
	assert_string_equal(out.data, expected);
	buffer_done(&out);
}

static void test_nothing(void **state)
{
	struct run_options o = { .quiet = 1, .name = "x", .tty = RUN_TTY_ALWAYS };
	struct buffer out = BUFFER_INIT(65536);
	struct error e = ERROR_INIT;

	assert_int_equal(run_policy_write(&o, "/cwd", &out, &e), 0);
	assert_int_equal(out.len, 0);
}

static void test_everything(void **state)
{
	const char *read[] = { "/a", "b", "~/c" }, *write[] = { "." }, *allow[] = { "ok.example", "*.x.example:443" },
		   *deny[] = { "no.example" };
	struct run_options o = { .allow_read = { read, 3 },
				 .allow_write = { write, 1 },
				 .allow_domain = { allow, 2 },
				 .deny_domain = { deny, 1 },
				 .memory = "8G",
				 .pids = "100",
				 .cpus = "1.5",
				 .time = "12h",
				 .nesting = 1 };

	check(&o, "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/a\",\"./b\",\"~/c\"],\"allowWrite\":[\"/cwd\"]},"
		  "\"network\":{\"allowedDomains\":[\"ok.example\",\"*.x.example:443\"],"
		  "\"deniedDomains\":[\"no.example\"]}},"
		  "\"limits\":{\"memory\":\"8G\",\"wall\":\"12h\",\"pids\":100,\"cpus\":1.5},"
		  "\"process\":{\"nesting\":true}}");
}

static void test_text_cannot_break_out(void **state)
{
	const char *read[] = { "/a\",\"/b\\\\" };
	struct run_options o = { .allow_read = { read, 1 } };

	check(&o, "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/a\\\",\\\"/b\\\\\\\\\"]}}}");
}

static void test_what_is_lent(void **state)
{
	const char *ports[] = { "5432", "6379" }, *sockets[] = { "/run/x.sock", "y.sock" };
	struct run_options o = { .host_port = { ports, 2 }, .unix_socket = { sockets, 2 } };

	check(&o, "{\"sandbox\":{\"network\":{\"hostPorts\":[\"5432\",\"6379\"],"
		  "\"allowUnixSockets\":[\"/run/x.sock\",\"./y.sock\"]}}}");
}

static void refused(struct run_options o, const char *message)
{
	struct buffer out = BUFFER_INIT(65536);
	struct error e = ERROR_INIT;

	assert_true(run_policy_write(&o, "/cwd", &out, &e) < 0);
	assert_string_equal(e.message, message);
	buffer_done(&out);
}

static void test_refusals(void **state)
{
	const char *empty[] = { "" };

	refused((struct run_options){ .memory = "lots" }, "--memory: \"lots\" is no size.");
	refused((struct run_options){ .time = "-1" }, "--time: \"-1\" is no duration.");
	refused((struct run_options){ .pids = "many" }, "--pids: \"many\" is no number.");
	refused((struct run_options){ .pids = "1,\"x\":2" }, "--pids: \"1,\"x\":2\" is no number.");
	refused((struct run_options){ .cpus = "" }, "--cpus: \"\" is no number.");
	refused((struct run_options){ .allow_read = { empty, 1 } }, "A path of an option is empty.");
	refused((struct run_options){ .unix_socket = { empty, 1 } }, "A path of an option is empty.");
}

static void path(const char *typed, const char *expected)
{
	char *got = NULL;
	struct error e = ERROR_INIT;

	assert_int_equal(run_policy_path(typed, "/cwd", &got, &e), 0);
	assert_string_equal(got, expected);
	free(got);
}

static void test_paths(void **state)
{
	struct error e = ERROR_INIT;
	char *got = NULL;

	path("/x/y", "/x/y");
	path("x", "./x");
	path("./x/..y", "./x/..y");
	path(".//x", "./x");
	path("././x", "./x");
	path("./", "/cwd");
	path(".", "/cwd");
	path("~/x", "~/x");
	path("~x", "./~x");
	path("/usr/../usr", "/usr");
	path("**/*.pem", "./**/*.pem");
	/* What was not typed is no pattern. */
	assert_int_equal(run_policy_path(".", "/c[w]d*", &got, &e), 0);
	assert_string_equal(got, "/c\\[w]d\\*");
	free(got);
	got = NULL;
	assert_int_equal(run_policy_path("/no/../such", "/cwd", &got, &e), -ENOENT);
	assert_null(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_text_cannot_break_out),
		cmocka_unit_test(test_what_is_lent),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
