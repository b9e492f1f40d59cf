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
#include "policy/hostname.h"

enum { LINE = 1024, RULES = 64 };

static const char *path;
static struct egress_rules rules;

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

static void add_rule(const char *text, bool deny)
{
	struct error e = ERROR_INIT;

	assert_true(rules.n_rules < RULES);
	if (egress_rule_parse(text, deny, &rules.rules[rules.n_rules], &e) < 0)
		fail_msg("%s: %s", text, e.message);
	rules.n_rules++;
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

static void every_line(void **state)
{
	char line[LINE], word[LINE], first[LINE], port[LINE], reason[LINE], name[LINE];
	unsigned tried = 0;
	FILE *f = fopen(path, "re");

	(void)state;
	assert_non_null(f);
	rules.rules = calloc(RULES, sizeof(*rules.rules));
	assert_non_null(rules.rules);
	while (fgets(line, sizeof(line), f)) {
		name[0] = '\0';
		if (line[0] == '#' || sscanf(line, "%s %s %s %s %s", word, first, port, reason, name) < 2)
			continue;
		if (strcmp(word, "allow") == 0 || strcmp(word, "deny") == 0) {
			add_rule(first, word[0] == 'd');
			continue;
		}
		if (strcmp(word, "pin") == 0)
			continue;
		assert_string_equal(word, "try");
		if (!rules.by_name)
			assert_int_equal(egress_rules_prepare(&rules), 0);
		try(first, port, reason, name);
		tried++;
	}
	fclose(f);
	assert_true(tried > 150);
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
