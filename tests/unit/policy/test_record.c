/* session.record*: which layer's word stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/policy.h"

#define RECORD(x) "{\"session\":{" x "}}"

/* true stands for recordings, false for what is typed, of sizes the smaller one. */
static void layers(void **state)
{
	static const struct {
		const char *text[2]; /* administrator, user; NULL: there is none */
		bool on, input;
		uint64_t size;
	} cases[] = {
		{ { NULL, NULL }, false, false, LIMIT_RECORD_BUILT_IN },
		{ { NULL, RECORD("\"record\":true") }, true, false, LIMIT_RECORD_BUILT_IN },
		{ { RECORD("\"record\":true"), RECORD("\"record\":false") }, true, false, LIMIT_RECORD_BUILT_IN },
		{ { RECORD("\"record\":false"), RECORD("\"record\":true") }, true, false, LIMIT_RECORD_BUILT_IN },
		{ { NULL, RECORD("\"recordInput\":true") }, false, true, LIMIT_RECORD_BUILT_IN },
		{ { RECORD("\"recordInput\":false"), RECORD("\"recordInput\":true") },
		  false,
		  false,
		  LIMIT_RECORD_BUILT_IN },
		{ { RECORD("\"recordSize\":\"1G\""), RECORD("\"recordSize\":\"2G\"") }, false, false, 1U << 30 },
		{ { RECORD("\"recordSize\":\"1G\""), RECORD("\"recordSize\":\"1M\"") }, false, false, 1U << 20 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy_input inputs[2];
		struct error e = ERROR_INIT;
		struct policy p;
		size_t n = 0;

		for (size_t k = 0; k < 2; k++)
			if (cases[i].text[k])
				inputs[n++] = (struct policy_input){ .layer = k ? POLICY_USER : POLICY_ADMINISTRATOR,
								     .path = "p.json",
								     .text = cases[i].text[k],
								     .len = strlen(cases[i].text[k]) };
		assert_int_equal(policy_load(inputs, n, &p, &e), 0);
		assert_int_equal(p.record.on, cases[i].on);
		assert_int_equal(p.record_input.on, cases[i].input);
		assert_int_equal(p.record_size.value, cases[i].size);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(layers) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
