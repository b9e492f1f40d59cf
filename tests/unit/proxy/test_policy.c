/* The policy of the gateway outside a session: its layers, localhost, what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/proxy/proxy_policy.h"

static bool decide_name(const struct policy *p, const char *name, uint16_t port)
{
	const struct egress_target t = { .name = name, .port = port };
	struct egress_verdict v;

	egress_decide(&p->egress, &t, &v);
	return v.allowed;
}

static bool decide_v4(const struct policy *p, uint8_t last, uint16_t port)
{
	const struct egress_target t = { .family = AF_INET, .address = { 127, 0, 0, last }, .port = port };
	struct egress_verdict v;

	egress_decide(&p->egress, &t, &v);
	return v.allowed;
}

static char *file_argument(const char *kind, const char *text, char ret[64])
{
	char path[] = "/tmp/proxy-policy-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	snprintf(ret, 64, "%s=%s", kind, path);
	return ret;
}

/* It has no banner that would say so. */
static void nothing_is_learned(void **state)
{
	char user[64];
	char *arguments[] = { file_argument("user", "{\"sandbox\":{\"network\":{\"onUnlisted\":\"learn\"}}}", user) };
	struct error e = ERROR_INIT;
	struct policy p;

	assert_int_equal(proxy_policy_load(arguments, 1, NULL, &p, &e), 0);
	assert_false(decide_name(&p, "new.example", 443));
	policy_done(&p);
	unlink(strchr(user, '=') + 1);
}

static void layers(void **state)
{
	char administrator[64], file[64];
	char *arguments[] = {
		file_argument("administrator",
			      "{\"sandbox\":{\"network\":{\"deniedDomains\":[\"bad.example\",\"127.0.0.1:80\"]}},"
			      "\"hosts\":{\"pin.example\":[\"127.0.0.9\"]}}",
			      administrator),
		(char[]){ "user=/nonexistent/policy.json" },
		NULL,
		(char[]){ "allow=b.test" },
	};
	struct error e = ERROR_INIT;
	struct policy p;

	arguments[2] = file_argument(
		"file", "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"*.ok.example\",\"a.test:22\"]}}}", file);
	assert_int_equal(proxy_policy_load(arguments, ARRAY_SIZE(arguments), "bad.example,.corp.example", &p, &e), 0);
	assert_true(decide_name(&p, "x.ok.example", 443));
	assert_true(decide_name(&p, "a.test", 22));
	assert_true(decide_name(&p, "b.test", 80));
	assert_true(decide_name(&p, "x.corp.example", 443));
	assert_false(decide_name(&p, "corp.example", 443));
	assert_false(decide_name(&p, "bad.example", 443));
	assert_true(decide_name(&p, "localhost", 443));
	assert_false(decide_name(&p, "localhost", 5432));
	assert_false(decide_name(&p, "a.localhost", 443));
	assert_true(decide_v4(&p, 1, 443));
	assert_false(decide_v4(&p, 1, 80));
	assert_false(decide_v4(&p, 1, 8080));
	assert_false(decide_v4(&p, 2, 443));
	assert_non_null(egress_pin_find(&p.egress, "pin.example"));
	assert_int_equal(egress_pin_find(&p.egress, "localhost")->n_addresses, 2);
	policy_done(&p);
	unlink(strchr(administrator, '=') + 1);
	unlink(strchr(file, '=') + 1);
}

static void refused(void **state)
{
	static const struct {
		const char *argument, *extra, *step, *message;
	} cases[] = {
		{ "file=/nonexistent/policy.json", NULL, "/nonexistent/policy.json", "cannot be read" },
		{ "administrator=/", NULL, "/", "cannot be read" },
		{ "allow=*", NULL, "--allow-domain:1: sandbox.network.allowedDomains[0]", "every host" },
		{ NULL, "a.example,https://b.example", "EGRESS_ALLOW_EXTRA:1: sandbox.network.allowedDomains[1]",
		  "URL" },
		{ NULL, ".com", "EGRESS_ALLOW_EXTRA:1: sandbox.network.allowedDomains[0]", "top-level" },
		{ "built-in=x", NULL, "arguments", "isoctl gateway" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char argument[64] = "";
		char *arguments[] = { argument };
		struct error e = ERROR_INIT;
		struct policy p;

		if (cases[i].argument)
			snprintf(argument, sizeof(argument), "%s", cases[i].argument);
		assert_true(proxy_policy_load(arguments, cases[i].argument ? 1 : 0, cases[i].extra, &p, &e) < 0);
		assert_string_equal(e.step, cases[i].step);
		if (!strstr(e.message, cases[i].message))
			fail_msg("%s", e.message);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(layers), cmocka_unit_test(nothing_is_learned),
					    cmocka_unit_test(refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
