/* sandbox.network.allowUnixSockets: what is taken, and what is no socket's path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/policy.h"

#define SOCKETS(list) "{\"sandbox\":{\"network\":{\"allowUnixSockets\":" list "}}}"

static int load(const char *administrator, const char *user, struct policy *ret, struct error *e)
{
	const struct policy_input inputs[] = {
		{ POLICY_ADMINISTRATOR, "/etc/isod/policy.json", administrator, strlen(administrator) },
		{ POLICY_USER, "/home/u/policy.json", user, strlen(user) },
	};

	*e = (struct error)ERROR_INIT;
	return policy_load(inputs, ARRAY_SIZE(inputs), ret, e);
}

static void layers_append(void **state)
{
	struct policy p;
	struct error e;

	assert_int_equal(load(SOCKETS("[\"/run/a\"]"), SOCKETS("[\"~/b\",\"/run/a\",\"./c\"]"), &p, &e), 0);
	assert_int_equal(p.unix_sockets.count, 3);
	assert_string_equal(p.unix_sockets.items[0].text, "/run/a");
	assert_int_equal(p.unix_sockets.items[0].origin.layer, POLICY_ADMINISTRATOR);
	assert_string_equal(p.unix_sockets.items[1].text, "~/b");
	policy_done(&p);
}

static void refused(void **state)
{
	static const struct {
		const char *list, *key, *says, *remedy;
	} cases[] = {
		{ "\"/a\"", "allowUnixSockets", "an array of strings", "" },
		{ "[1]", "allowUnixSockets[0]", "a string", "" },
		{ "[\"/a\",\"\"]", "allowUnixSockets[1]", "empty", "" },
		{ "[\"a.sock\"]", "allowUnixSockets[0]", "a.sock", "" },
		{ "[\"@a\"]", "allowUnixSockets[0]", "abstract", "at a path" },
		{ "[\"/a/*\"]", "allowUnixSockets[0]", "is a pattern", "each socket" },
		{ "[\"/a/**\"]", "allowUnixSockets[0]", "is a pattern", "each socket" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		struct policy p;
		struct error e;

		snprintf(text, sizeof(text), SOCKETS("%s"), cases[i].list);
		if (load("{}", text, &p, &e) == 0)
			fail_msg("%s was taken", cases[i].list);
		if (!strstr(e.step, cases[i].key) || !strstr(e.message, cases[i].says) ||
		    !strstr(e.remedy, cases[i].remedy))
			fail_msg("%s: %s: %s %s", cases[i].list, e.step, e.message, e.remedy);
		policy_done(&p);
	}
}

static void bounded(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 16);
	struct policy p;
	struct error e;

	assert_int_equal(buffer_append_string(&text, "{\"sandbox\":{\"network\":{\"allowUnixSockets\":["), 0);
	for (int i = 0; i <= LIMIT_UNIX_SOCKETS; i++)
		assert_int_equal(buffer_printf(&text, "%s\"/run/%d\"", i ? "," : "", i), 0);
	assert_int_equal(buffer_append(&text, "]}}}", 5), 0);
	assert_true(load("{}", text.data, &p, &e) < 0);
	assert_non_null(strstr(e.message, "more than 32 sockets"));
	policy_done(&p);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(layers_append),
		cmocka_unit_test(refused),
		cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
