/* Rules for what was learned: one a host and port, wildcards only where one owner has all names below. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "client/policy/proposal.h"
#include "client/policy/registrable.h"

/* "com", "co.uk" and "pages.example" are suffixes, whatever list the machine has. */
static const char *owner(const char *name)
{
	static const char *const suffixes[] = { "com", "co.uk", "pages.example" };

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(name, suffixes[i]) == 0)
			return NULL;
		if (hostname_is_below(name, suffixes[i]))
			return name;
	}
	return strchr(name, '.') ? name : NULL;
}

static void add(struct proposal *p, const char *name, uint16_t port, const char *program)
{
	assert_int_equal(proposal_add(p, name, port, 1, program), 0);
}

static void hosts(void **state)
{
	_cleanup_proposal_ struct proposal p = { .hosts = NULL };
	char text[EGRESS_RULE_TEXT_MAX];

	add(&p, "b.example", 443, "/usr/bin/curl");
	add(&p, "a.example", 443, NULL);
	add(&p, "b.example", 80, "/usr/bin/curl");
	assert_int_equal(proposal_add(&p, "b.example", 443, 41, "/usr/bin/git"), 0);
	add(&p, "b.example", 443, "/usr/bin/git");
	assert_int_equal(p.n_hosts, 3);
	proposal_format_host(&p.hosts[0], text);
	assert_string_equal(text, "a.example:443");
	assert_int_equal(p.hosts[0].n_programs, 0);
	proposal_format_host(&p.hosts[1], text);
	assert_string_equal(text, "b.example:80");
	proposal_format_host(&p.hosts[2], text);
	assert_string_equal(text, "b.example:443");
	assert_int_equal(p.hosts[2].count, 43);
	assert_int_equal(p.hosts[2].n_programs, 2);
	for (int i = 0; i < 9; i++) {
		snprintf(text, sizeof(text), "/bin/%d", i);
		add(&p, "b.example", 443, text);
	}
	assert_int_equal(p.hosts[2].n_programs, PROPOSAL_PROGRAMS_MAX);
	assert_int_equal(p.hosts[2].n_more, 9 - 2);
}

/* The log is the daemon's, but its names were the program's to choose. */
static void not_taken(void **state)
{
	static const char *const names[] = {
		"",          "A.example", "a.example.", "a b.example", "\"x\".example", "*.example.com",
		"127.0.0.1", "buildbox",  "x.local",    "localhost",   "a.example:443", "a.example\n",
	};
	_cleanup_proposal_ struct proposal p = { .hosts = NULL };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (proposal_add(&p, names[i], 443, 1, NULL) != -EINVAL)
			fail_msg("%s", names[i]);
	assert_int_equal(proposal_add(&p, "a.example", 0, 1, NULL), -EINVAL);
	assert_int_equal(p.n_hosts, 0);
	assert_int_equal(proposal_find_wildcards(&p, owner), 0);
	assert_int_equal(p.n_wildcards, 0);
}

static void wildcards(void **state)
{
	static const char *const names[] = {
		/* three beside each other, and the one above */
		"a.cdn.example.com",
		"b.cdn.example.com",
		"c.cdn.example.com",
		"cdn.example.com",
		/* two */
		"a.two.com",
		"b.two.com",
		/* three, one of them deeper */
		"a.x.three.com",
		"b.three.com",
		"c.three.com",
		/* everybody's */
		"a.com",
		"b.com",
		"c.com",
		"a.co.uk",
		"b.co.uk",
		"c.co.uk",
		"u.pages.example",
		"v.pages.example",
		"w.pages.example",
		/* one of those who have a name there */
		"a.u.pages.example",
		"b.u.pages.example",
		"c.u.pages.example",
	};
	_cleanup_proposal_ struct proposal p = { .hosts = NULL };
	char text[EGRESS_RULE_TEXT_MAX];
	size_t covered = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		add(&p, names[i], 443, NULL);
	/* Another port is another rule. */
	add(&p, "d.two.com", 8443, NULL);
	assert_int_equal(proposal_find_wildcards(&p, owner), 0);
	assert_int_equal(p.n_wildcards, 2);
	proposal_format_wildcard(&p.wildcards[0], text);
	assert_string_equal(text, "*.cdn.example.com:443");
	assert_int_equal(p.wildcards[0].n_hosts, 3);
	proposal_format_wildcard(&p.wildcards[1], text);
	assert_string_equal(text, "*.u.pages.example:443");
	for (size_t i = 0; i < p.n_hosts; i++)
		covered += proposal_wildcard_of(&p, &p.hosts[i]) != NULL;
	assert_int_equal(covered, 6);
}

static bool is_web(const struct proposal_host *host, void *data)
{
	return host->port == 443;
}

static void filter_and_bound(void **state)
{
	_cleanup_proposal_ struct proposal p = { .hosts = NULL };
	char name[64];

	for (int i = 0; i < PROPOSAL_HOSTS_MAX + 7; i++) {
		snprintf(name, sizeof(name), "n%d.example.com", i);
		add(&p, name, i % 2 ? 443 : 8443, NULL);
	}
	assert_int_equal(p.n_hosts, PROPOSAL_HOSTS_MAX);
	assert_int_equal(p.more, 7);
	add(&p, "n1.example.com", 443, NULL);
	assert_int_equal(p.more, 7);
	proposal_filter(&p, is_web, NULL);
	assert_int_equal(p.n_hosts, PROPOSAL_HOSTS_MAX / 2);
	for (size_t i = 0; i < p.n_hosts; i++)
		assert_int_equal(p.hosts[i].port, 443);
}

static void list(void **state)
{
	/* Without the list nothing is known to be registrable, so no wildcard is offered. */
	if (!registrable_is_known()) {
		assert_null(registrable_part("a.b.example.co.uk"));
		assert_null(registrable_part("me.github.io"));
		return;
	}
	assert_null(registrable_part("com"));
	assert_null(registrable_part("co.uk"));
	assert_null(registrable_part("github.io"));
	assert_null(registrable_part("s3.amazonaws.com"));
	assert_string_equal(registrable_part("a.b.example.co.uk"), "example.co.uk");
	assert_string_equal(registrable_part("me.github.io"), "me.github.io");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),     cmocka_unit_test(not_taken),
		cmocka_unit_test(wildcards), cmocka_unit_test(filter_and_bound),
		cmocka_unit_test(list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
