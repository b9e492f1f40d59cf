/* The table of tests/conformance, asked of the decision itself. usage: test_session_conformance FILE */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/target.h"
#include "policy/egress_tls.h"
#include "policy/hostname.h"

enum { LINE = 1024, RULES = 64 };

static const char *path;
static struct egress_rules rules;
static unsigned hellos;

/* \xNN to bytes, in place; - is nothing. */
static size_t unescape(char *text)
{
	char *to = text;
	unsigned byte;

	if (strcmp(text, "-") == 0)
		return 0;
	for (char *from = text; *from; from++) {
		if (sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return (size_t)(to - text);
}

static void add_rule(struct egress_rule *list, uint32_t *n, const char *text, bool deny)
{
	struct error e = ERROR_INIT;

	assert_true(*n < RULES);
	if (egress_rule_parse(text, deny, &list[*n], &e) < 0)
		fail_msg("%s: %s", text, e.message);
	(*n)++;
}

/* What is said of host and port; "malformed" where that is no target at all. */
static const char *decide(const char *host, size_t len, const char *port, struct target *ret)
{
	struct egress_verdict v;
	uint16_t number;

	*ret = (struct target){ 0 };
	if (len == 0 || hostname_parse_port(port, strlen(port), &number) < 0)
		return "malformed";
	if (target_from_host(host, len, number, ret) < 0)
		return egress_reason_name(EGRESS_BAD_NAME);
	target_decide(ret, &rules, 0, &v);
	assert_int_equal(v.allowed, v.reason == EGRESS_ALLOWED);
	return egress_reason_name(v.reason);
}

/* The same as text, in which a malformed target never becomes another one. */
static void check_text(const char *host, size_t len, const char *port, const struct target *expected)
{
	bool brackets = memchr(host, ':', len) && host[0] != '[';
	char text[LINE];
	struct target t;
	int n = snprintf(text, sizeof(text), "%s", brackets ? "[" : "");

	memcpy(text + n, host, len);
	n += (int)len;
	n += snprintf(text + n, sizeof(text) - (size_t)n, "%s:%s", brackets ? "]" : "", port);
	if (target_parse(text, (size_t)n, 0, &t) == 0)
		assert_true(target_equal(&t, expected));
	else
		assert_int_equal(expected->port, 0);
}

static void try(char *host, const char *port, const char *reason, const char *name)
{
	size_t len = unescape(host);
	struct target t;
	const char *got = decide(host, len, port, &t);

	if (strcmp(got, reason) != 0)
		fail_msg("%s %s: %s, not %s", host, port, got, reason);
	if (t.port != 0 && strcmp(t.name, name[0] ? name : host) != 0)
		fail_msg("%s %s is %s", host, port, t.name);
	check_text(host, len, port, &t);
}

static void try_hello(const char *line)
{
	char host[LINE], port[LINE], name[LINE], ech[LINE], allowed[LINE], denied[LINE];
	const char *expected[] = { allowed, denied };
	struct egress_hello hello = { .name = NULL };
	struct egress_target t;
	struct target target;

	assert_int_equal(sscanf(line, "hello %s %s %s %s %s %s", host, port, name, ech, allowed, denied), 6);
	hello.ech = strcmp(ech, "ech") == 0;
	if (strcmp(name, "-") != 0) {
		hello.name = name;
		hello.name_len = strlen(name);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(expected); i++) {
		const char *got = decide(host, strlen(host), port, &target);

		rules.tls.ech_denied = i == 1;
		t = target_for_egress(&target);
		if (strcmp(got, "allowed") == 0)
			got = egress_reason_name(egress_tls_decide(&rules, &t, &hello));
		if (strcmp(got, expected[i]) != 0)
			fail_msg("%s is %s, not %s", line, got, expected[i]);
	}
	rules.tls.ech_denied = false;
	hellos++;
}

/* Part of the policy? */
static bool take_rule(const char *word, const char *text)
{
	if (strcmp(word, "nosni") == 0)
		add_rule(rules.tls.no_sni, &rules.tls.n_no_sni, text, true);
	else if (strcmp(word, "allow") == 0 || strcmp(word, "deny") == 0)
		add_rule(rules.rules, &rules.n_rules, text, word[0] == 'd');
	else
		return strcmp(word, "pin") == 0;
	return true;
}

static void every_line(void **state)
{
	char line[LINE], word[LINE], first[LINE], port[LINE], reason[LINE], name[LINE];
	unsigned tried = 0;
	FILE *f = fopen(path, "re");

	(void)state;
	assert_non_null(f);
	rules.rules = calloc(RULES, sizeof(*rules.rules));
	rules.tls.no_sni = calloc(RULES, sizeof(*rules.tls.no_sni));
	assert_true(rules.rules && rules.tls.no_sni);
	while (fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		if (line[0] == '#' || sscanf(line, "%s %s %s %s %s", word, first, port, reason, name) < 2)
			continue;
		if (take_rule(word, first))
			continue;
		if (!rules.by_name)
			assert_int_equal(egress_rules_prepare(&rules), 0);
		if (strcmp(word, "hello") == 0) {
			try_hello(line);
			continue;
		}
		assert_string_equal(word, "try");
		try(first, port, reason, name);
		tried++;
	}
	fclose(f);
	assert_true(tried > 150 && hellos > 20);
	egress_rules_done(&rules);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_line) };

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
