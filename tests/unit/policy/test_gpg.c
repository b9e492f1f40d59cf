/* sandbox.gpgAgent: which keys are lent, and what is no name of one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/policy.h"

#define GPG(members) "{\"sandbox\":{\"gpgAgent\":{" members "}}}"
#define GRIP "7A70BD896950779D54390F49BC37A6AF3944AF8C"

/* administrator: NULL: has none. */
static int load(const char *administrator, const char *user, struct policy *ret, struct error *e)
{
	struct policy_input inputs[2];
	size_t n = 0;

	if (administrator)
		inputs[n++] = (struct policy_input){ .layer = POLICY_ADMINISTRATOR,
						     .path = "/etc/isod/policy.json",
						     .text = administrator,
						     .len = strlen(administrator) };
	inputs[n++] = (struct policy_input){
		.layer = POLICY_USER, .path = "/home/u/policy.json", .text = user, .len = strlen(user)
	};
	*e = (struct error)ERROR_INIT;
	return policy_load(inputs, n, ret, e);
}

static bool lends(const char *administrator, const char *user)
{
	struct policy p;
	struct error e;
	bool lent;

	if (load(administrator, user, &p, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
	lent = policy_lends_gpg(&p);
	policy_done(&p);
	return lent;
}

static void lent_by_keygrip(void **state)
{
	assert_false(lends(NULL, "{}"));
	assert_false(lends(NULL, GPG("\"keys\":[]")));
	assert_true(lends(NULL, GPG("\"keys\":[\"" GRIP "\"]")));
	assert_false(lends(NULL, GPG("\"keys\":[\"" GRIP "\"],\"enabled\":false")));
	assert_false(lends(GPG("\"enabled\":false"), GPG("\"keys\":[\"" GRIP "\"],\"enabled\":true")));
	assert_true(lends(GPG("\"keys\":[\"" GRIP "\"]"), "{}"));
}

static void one_form_of_each(void **state)
{
	struct policy p;
	struct error e;

	assert_int_equal(load(GPG("\"keys\":[\"" GRIP "\"]"),
			      GPG("\"keys\":[\"7a70bd896950779d54390f49bc37a6af3944af8c\"]"), &p, &e),
			 0);
	assert_int_equal(p.gpg_keys.count, 1);
	assert_string_equal(p.gpg_keys.items[0].text, GRIP);
	policy_done(&p);
}

static void no_names(void **state)
{
	static const char *const texts[] = { "", "me@example.com", "0x" GRIP, GRIP "0", "31EA2F4711C09B40" };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char text[200];
		struct policy p;
		struct error e;

		snprintf(text, sizeof(text), GPG("\"keys\":[\"%s\"]"), texts[i]);
		if (load(NULL, text, &p, &e) >= 0)
			fail_msg("%s was taken", text);
		assert_non_null(strstr(e.message, "keygrip"));
		assert_non_null(strstr(e.remedy, "--with-keygrip"));
		policy_done(&p);
	}
}

static void not_without_end(void **state)
{
	static char text[(LIMIT_GPG_KEYS + 1) * 44 + 100];
	struct policy p;
	struct error e;
	int n = snprintf(text, sizeof(text), "{\"sandbox\":{\"gpgAgent\":{\"keys\":[\"" GRIP "\"");

	for (unsigned i = 0; i < LIMIT_GPG_KEYS; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ",\"%040X\"", i);
	snprintf(text + n, sizeof(text) - (size_t)n, "]}}}");
	assert_true(load(NULL, text, &p, &e) < 0);
	policy_done(&p);
	assert_non_null(strstr(e.message, "more than"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lent_by_keygrip),
		cmocka_unit_test(one_form_of_each),
		cmocka_unit_test(no_names),
		cmocka_unit_test(not_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
