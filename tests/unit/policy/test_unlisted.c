/* onUnlisted over several layers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"

/* One text a layer, from the administrator on; NULL: there is none. */
struct layers {
	const char *text[POLICY_LAYER_COUNT - 1];
};

static int load(const struct layers *layers, struct policy *ret, struct error *e)
{
	static const char *const paths[] = { "/etc/isod/policy.json", "/home/u/.config/isod/policy.json", "f.json",
					     "" };
	struct policy_input inputs[POLICY_LAYER_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(layers->text); i++)
		if (layers->text[i])
			inputs[n++] =
				(struct policy_input){ .layer = (enum policy_layer_kind)(POLICY_ADMINISTRATOR + i),
						       .path = paths[i],
						       .text = layers->text[i],
						       .len = strlen(layers->text[i]) };
	*e = (struct error)ERROR_INIT;
	return policy_load(inputs, n, ret, e);
}

static void must_load(const struct layers *layers, struct policy *ret)
{
	struct error e;

	if (load(layers, ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

#define UNLISTED(word) NETWORK("\"onUnlisted\":\"" word "\"")
#define NETWORK(text) "{\"sandbox\":{\"network\":{" text "}}}"

/* The later layer counts, but is never looser than the administrator. */
static void unlisted(void **state)
{
	static const struct {
		struct layers layers;
		uint32_t unlisted;
		enum policy_layer_kind from;
		bool overruled;
	} cases[] = {
		{ { { NULL } }, EGRESS_UNLISTED_DENY, POLICY_BUILT_IN, false },
		{ { { NULL, UNLISTED("learn") } }, EGRESS_UNLISTED_LEARN, POLICY_USER, false },
		{ { { NULL, NULL, NULL, UNLISTED("learn") } }, EGRESS_UNLISTED_LEARN, POLICY_COMMAND_LINE, false },
		{ { { NULL, UNLISTED("learn"), UNLISTED("deny") } }, EGRESS_UNLISTED_DENY, POLICY_FILE, false },
		{ { { NULL, UNLISTED("deny"), UNLISTED("ask") } }, EGRESS_UNLISTED_ASK, POLICY_FILE, false },
		{ { { UNLISTED("learn") } }, EGRESS_UNLISTED_LEARN, POLICY_ADMINISTRATOR, false },
		{ { { UNLISTED("deny"), UNLISTED("learn") } }, EGRESS_UNLISTED_DENY, POLICY_ADMINISTRATOR, true },
		{ { { UNLISTED("deny"), NULL, NULL, UNLISTED("learn") } },
		  EGRESS_UNLISTED_DENY,
		  POLICY_ADMINISTRATOR,
		  true },
		{ { { UNLISTED("deny"), UNLISTED("deny"), NULL, UNLISTED("learn") } },
		  EGRESS_UNLISTED_DENY,
		  POLICY_USER,
		  true },
		{ { { UNLISTED("ask"), UNLISTED("learn") } }, EGRESS_UNLISTED_ASK, POLICY_ADMINISTRATOR, true },
		{ { { UNLISTED("ask"), UNLISTED("deny") } }, EGRESS_UNLISTED_DENY, POLICY_USER, false },
	};
	const struct layers file = { { NULL, NULL, UNLISTED("learn") } };
	struct policy p;
	struct error e;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		must_load(&cases[i].layers, &p);
		assert_int_equal(p.egress.unlisted, cases[i].unlisted);
		assert_int_equal(p.unlisted.origin.layer, cases[i].from);
		assert_int_equal(p.unlisted.overruled, cases[i].overruled);
		policy_done(&p);
	}
	/* Files of --policy come with projects, too. */
	assert_int_equal(load(&file, &p, &e), -EINVAL);
	assert_non_null(strstr(e.message, "cannot say \"learn\""));
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unlisted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
