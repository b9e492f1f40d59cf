/* Answers of name servers that are kept, and for which names the stub asks at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/answers.h"
#include "tests/unit/guard_page.h"

static const struct stub_answer one = { .seconds = 3, .n = 1, .addresses = { { AF_INET, { 192, 0, 2, 1 } } } };
static const struct stub_answer nothing = { .seconds = 5 };
static const struct stub_answer unkept = { .n = 1, .addresses = { { AF_INET, { 192, 0, 2, 1 } } } };

static void kept_as_long_as_they_say(void **state)
{
	struct answers a;

	(void)state;
	answers_open(&a);
	answers_keep(&a, "one", &one, 1000);
	answers_keep(&a, "nothing", &nothing, 1000);
	answers_keep(&a, "unkept", &unkept, 1000);
	assert_null(answers_find(&a, "unkept", 1000));
	assert_null(answers_find(&a, "on", 1000));
	assert_int_equal(answers_find(&a, "one", 3999)->n, 1);
	assert_null(answers_find(&a, "one", 4000));
	assert_int_equal(answers_find(&a, "nothing", 5999)->n, 0);
	/* A newer answer takes the place of an older one, also where it is not to be kept. */
	answers_keep(&a, "nothing", &one, 5000);
	assert_int_equal(answers_find(&a, "nothing", 7000)->n, 1);
	answers_keep(&a, "nothing", &unkept, 7000);
	assert_null(answers_find(&a, "nothing", 7000));
	assert_int_equal(a.n, 0);
	answers_done(&a);
}

static void bounded(void **state)
{
	struct answers a;
	char name[16];

	(void)state;
	answers_open(&a);
	for (int i = 0; i < 3 * LIMIT_ANSWERS; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		answers_keep(&a, name, &one, 0);
		assert_true(a.n <= LIMIT_ANSWERS);
	}
	assert_null(answers_find(&a, "n0", 0));
	assert_non_null(answers_find(&a, name, 0));
	answers_done(&a);
}

static void names_for_the_stub(void **state)
{
	static const struct {
		const char *text, *name;
		bool serves;
	} cases[] = {
		{ "", "a.example", true },
		{ "passwd: files sss\n", "a.example", true },
		{ "hosts: files dns\n", "a.example", true },
		{ "hosts: files dns", "buildbox", true },
		{ "\n # hosts: ldap\n\thosts:\tdns files # ldap\n", "a.example", true },
		{ "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", "a.example", true },
		{ "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", "printer.local", false },
		{ "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", "printer.local.example", true },
		{ "hosts: files dns myhostname\n", "a.example", true },
		{ "hosts: files dns myhostname\n", "buildbox", false },
		{ "hosts: mymachines resolve [!UNAVAIL=return] files myhostname dns\n", "a.example", false },
		{ "hosts: files ldap dns\n", "a.example", false },
		{ "hosts: files dnsx\n", "a.example", false },
		{ "hosts: files [NOTFOUND=return dns\n", "a.example", false },
		{ "hosts: files[NOTFOUND=return]dns\n", "a.example", true },
		{ "hosts: files dns\nhosts: ldap\n", "a.example", true },
		{ "hosts:", "a.example", true },
		{ "hosts", "a.example", true },
	};

	(void)state;
	assert_true(stub_reads("", 0));
	assert_true(stub_reads("nameserver fe80::1\n", 19));
	assert_false(stub_reads("nameserver fe80::1%eth0\n", 24));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);

		if (stub_serves(cases[i].text, len, cases[i].name) != cases[i].serves)
			fail_msg("%s: %s", cases[i].text, cases[i].name);
		/* Every beginning of it, against a page that cannot be read. */
		for (size_t n = 0; n <= len; n++) {
			struct guard_page g = guard_page_new(cases[i].text, n);

			stub_serves(g.data, n, cases[i].name);
			guard_page_done(&g);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_as_long_as_they_say),
		cmocka_unit_test(bounded),
		cmocka_unit_test(names_for_the_stub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
