/* The proxy that leads out, as a policy names it. Mistakes in it: test_load.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"

#define NET(x) "{\"sandbox\":{\"network\":{" x "}}}"
#define PROXY(x) NET("\"upstreamProxy\":{" x "}")

static int load(enum policy_layer_kind layer, const char *path, const char *text, struct policy *ret, struct error *e)
{
	const struct policy_input input = { .layer = layer, .path = path, .text = text, .len = strlen(text) };

	*e = (struct error)ERROR_INIT;
	return policy_load(&input, 1, ret, e);
}

static void upstream_proxy(void **state)
{
	static const struct {
		const char *url, *name;
		int family;
	} cases[] = {
		{ "http://Proxy.Example:3128/", "proxy.example", 0 },
		{ "http://localhost:8080", "localhost", 0 },
		{ "http://10.0.0.1:3128", NULL, AF_INET },
		{ "http://[fd00::1]:3128", NULL, AF_INET6 },
		{ "https://Proxy.Example:443/", "proxy.example", 0 },
		{ "https://10.0.0.1:3129", NULL, AF_INET },
	};
	char text[256];
	struct error e;
	struct policy p;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text),
			 PROXY("\"url\":\"%s\",\"authFile\":\"/etc/isod/a\",\"bypass\":[\"*.near.example\",\"10.0.0.0/"
			       "8:22\"]"),
			 cases[i].url);
		if (load(POLICY_ADMINISTRATOR, "p", text, &p, &e) < 0)
			fail_msg("%s: %s", cases[i].url, e.message);
		assert_string_equal(p.proxy.url, cases[i].url);
		assert_string_equal(p.proxy.auth_file, "a");
		assert_int_equal(p.proxy.way.bypass.n_rules, 2);
		assert_int_equal(p.proxy.bypass.count, 2);
		assert_int_equal(p.proxy.way.family, cases[i].family);
		assert_int_equal(p.proxy.tls, cases[i].url[4] == 's');
		if (cases[i].name)
			assert_string_equal(p.proxy.way.name, cases[i].name);
		policy_done(&p);
		/* No layer but the administrator's may say where everything goes. */
		for (enum policy_layer_kind layer = POLICY_USER; layer < POLICY_LAYER_COUNT; layer++) {
			assert_int_equal(load(layer, "u", text, &p, &e), -EINVAL);
			assert_non_null(strstr(e.message, "Only the administrator's"));
			policy_done(&p);
		}
	}
	assert_int_equal(load(POLICY_ADMINISTRATOR, "p", NET("\"upstreamProxy\":null"), &p, &e), 0);
	assert_null(p.proxy.url);
	policy_done(&p);
	snprintf(text, sizeof(text), PROXY("\"caFile\":\"/etc/isod/ca.pem\",\"url\":\"https://p:1\""));
	assert_int_equal(load(POLICY_ADMINISTRATOR, "p", text, &p, &e), 0);
	assert_string_equal(p.proxy.ca_file, "ca.pem");
	policy_done(&p);
	/* A message must not repeat what may be a password. */
	assert_true(load(POLICY_ADMINISTRATOR, "p", PROXY("\"url\":\"http://u:secret@p:1\""), &p, &e) < 0);
	assert_null(strstr(e.message, "secret"));
	assert_null(strstr(e.remedy, "secret"));
	policy_done(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(upstream_proxy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
