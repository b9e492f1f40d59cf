/* Rules put into the text of a policy file: where, and what stays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "client/policy/policy_edit.h"

static const char *const two[] = { "a.example:443", "b.example:22" };

static const struct {
	const char *before, *after;
	size_t added;
} cases[] = {
	{ "",
	  "{\n  \"sandbox\": {\n    \"network\": {\n      \"allowedDomains\": [\n        \"a.example:443\",\n        "
	  "\"b.example:22\"\n      ]\n    }\n  }\n}\n",
	  2 },
	{ "{}", "{ \"sandbox\": { \"network\": { \"allowedDomains\": [\"a.example:443\", \"b.example:22\"] } } }", 2 },
	{ "{ \"limits\": {} }",
	  "{ \"sandbox\": { \"network\": { \"allowedDomains\": [\"a.example:443\", \"b.example:22\"] } }, \"limits\": "
	  "{} }",
	  2 },
	{ "{\"sandbox\":{\"network\":{}}}",
	  "{\"sandbox\":{\"network\":{ \"allowedDomains\": [\"a.example:443\", \"b.example:22\"] }}}", 2 },
	{ "{\"sandbox\":{\"network\":{\"allowedDomains\":[]}}}",
	  "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"a.example:443\", \"b.example:22\"]}}}", 2 },
	{ "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"x.example\"]}}}",
	  "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"a.example:443\", \"b.example:22\", \"x.example\"]}}}", 2 },
	{ "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"b.example:22\"]}}}",
	  "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"a.example:443\", \"b.example:22\"]}}}", 1 },
	{ "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"b.example:22\",\"a.example:443\"]}}}",
	  "{\"sandbox\":{\"network\":{\"allowedDomains\":[\"b.example:22\",\"a.example:443\"]}}}", 0 },
	/* Comments, strings that look like structure, other members of the same name. */
	{ "// mine: \"sandbox\": {\n"
	  "{\n"
	  "  /* { \"network\": [ */\n"
	  "  \"environment\": { \"set\": { \"A\": \"{\\\"sandbox\\\": [ // \", \"sandbox\": \"\\\\\" } },\n"
	  "  \"sandbox\": {\n"
	  "    \"network\": {\n"
	  "      \"deniedDomains\": [\"t.example\", { \"host\": \"u.example\", \"reason\": \"allowedDomains\" }],\n"
	  "      \"allowedDomains\": [ // those that I use\n"
	  "        \"x.example\", // why\n"
	  "        \"y.example\" /* last */\n"
	  "      ]\n"
	  "    }\n"
	  "  }\n"
	  "}\n",
	  "// mine: \"sandbox\": {\n"
	  "{\n"
	  "  /* { \"network\": [ */\n"
	  "  \"environment\": { \"set\": { \"A\": \"{\\\"sandbox\\\": [ // \", \"sandbox\": \"\\\\\" } },\n"
	  "  \"sandbox\": {\n"
	  "    \"network\": {\n"
	  "      \"deniedDomains\": [\"t.example\", { \"host\": \"u.example\", \"reason\": \"allowedDomains\" }],\n"
	  "      \"allowedDomains\": [\n"
	  "        \"a.example:443\",\n"
	  "        \"b.example:22\", // those that I use\n"
	  "        \"x.example\", // why\n"
	  "        \"y.example\" /* last */\n"
	  "      ]\n"
	  "    }\n"
	  "  }\n"
	  "}\n",
	  2 },
	{ "{\n\t\"limits\": { \"pids\": 9 }\n}\n",
	  "{\n\t\"sandbox\": { \"network\": { \"allowedDomains\": [\"a.example:443\", \"b.example:22\"] } },\n"
	  "\t\"limits\": { \"pids\": 9 }\n}\n",
	  2 },
};

static void texts(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_POLICY_FILE);
		struct error e = ERROR_INIT;
		size_t added;

		if (policy_edit_allow("p.json", cases[i].before, strlen(cases[i].before), two, 2, &out, &added, &e) < 0)
			fail_msg("%zu: %s: %s\n%.*s", i, e.step, e.message, (int)out.len, out.data);
		assert_int_equal(added, cases[i].added);
		assert_int_equal(buffer_append(&out, "", 1), 0);
		assert_string_equal(out.data, cases[i].after);
	}
}

/* A text with a mistake is none that is written to; neither is one whose keys only a JSON reader recognises. */
static void refused(void **state)
{
	static const char *const bad[] = {
		"{",
		"[]",
		"null",
		"{\"sandbox\":1}",
		"{\"mistake\":1}",
		"{\"sandbox\":{\"network\":{\"allowedDomains\":\"x\"}}}",
		"{\"s\\u0061ndbox\":{\"network\":{\"allowedDomains\":[\"x.example\"]}}}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_POLICY_FILE);
		struct error e = ERROR_INIT;
		size_t added;

		if (policy_edit_allow("p.json", bad[i], strlen(bad[i]), two, 2, &out, &added, &e) >= 0)
			fail_msg("%s", bad[i]);
		assert_true(e.message[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
