#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

#include "daemon/monitor/options.h"

static int parse(struct options *o, char *complaint, const char *const *words)
{
	int n = 0;

	while (words[n])
		n++;
	return options_parse(n, (char *const *)words, o, complaint, 256);
}
#define PARSE(...) parse(&o, complaint, (const char *const[]){ "isod", __VA_ARGS__, NULL })

static void test_defaults(void **state)
{
	struct options o;
	char complaint[256];

	assert_int_equal(PARSE("--foreground"), 0);
	assert_null(o.socket);
	assert_string_equal(o.run_dir, "/run/isod");
	assert_string_equal(o.state_dir, "/var/lib/isod");
	assert_string_equal(o.config_dir, "/etc/isod");
	assert_string_equal(o.user, "isod");
	assert_string_equal(o.net_user, "isod-net");
	assert_int_equal(o.ready_fd, -1);
	assert_false(o.version);
}

static void test_both_forms(void **state)
{
	struct options o;
	char complaint[256];

	assert_int_equal(PARSE("--socket", "/s", "--run-dir=/r", "--ready-fd=9", "--version"), 0);
	assert_string_equal(o.socket, "/s");
	assert_string_equal(o.run_dir, "/r");
	assert_int_equal(o.ready_fd, 9);
	assert_true(o.version);
}

static void test_refused(void **state)
{
	struct options o = { .ready_fd = 77 };
	char complaint[256];

	assert_int_equal(PARSE("--sock", "/s"), -EINVAL);
	assert_string_equal(complaint, "--sock is not an option of isod.");
	assert_int_equal(PARSE("--socket"), -EINVAL);
	assert_string_equal(complaint, "--socket wants a value.");
	assert_int_equal(PARSE("--socket="), -EINVAL);
	assert_int_equal(PARSE("--ready-fd", "-1"), -EINVAL);
	assert_int_equal(PARSE("--ready-fd", "9x"), -EINVAL);
	assert_int_equal(PARSE("--ready-fd", "99999999999"), -EINVAL);
	assert_int_equal(PARSE("--version=1"), -EINVAL);
	assert_string_equal(complaint, "--version takes no value.");
	assert_int_equal(PARSE("run"), -EINVAL);
	assert_int_equal(o.ready_fd, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_both_forms),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
