/* The decision: what is allowed, for which reason, whatever the order of the rules, and how fast. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/egress.h"

#define HOST(n, p)                                                                                                     \
	{                                                                                                              \
		.kind = EGRESS_RULE_HOST, .name = n, .port = p                                                         \
	}
#define SUFFIX(n, p)                                                                                                   \
	{                                                                                                              \
		.kind = EGRESS_RULE_SUFFIX, .name = n, .port = p                                                       \
	}
#define NO_HOST(n, p)                                                                                                  \
	{                                                                                                              \
		.kind = EGRESS_RULE_HOST, .name = n, .port = p, .deny = 1                                              \
	}
#define NO_SUFFIX(n, p)                                                                                                \
	{                                                                                                              \
		.kind = EGRESS_RULE_SUFFIX, .name = n, .port = p, .deny = 1                                            \
	}
#define NET4(b, p, ...)                                                                                                \
	{                                                                                                              \
		.kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = b, .port = p, .address = { __VA_ARGS__ }       \
	}
#define NO_NET4(b, p, ...)                                                                                             \
	{                                                                                                              \
		.kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = b, .port = p, .deny = 1, .address = {          \
			__VA_ARGS__                                                                                    \
		}                                                                                                      \
	}
#define NET6(b, p, ...)                                                                                                \
	{                                                                                                              \
		.kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = b, .port = p, .address = { __VA_ARGS__ }      \
	}

static const struct egress_rule rules[] = {
	HOST("ok.example", 0),
	HOST("port.example", 8443),
	HOST("port.example", 22),
	SUFFIX("wild.example", 0),
	SUFFIX("deep.wild.example", 9000),
	NO_HOST("bad.wild.example", 0),
	NO_SUFFIX("evil.wild.example", 0),
	HOST("half.example", 0),
	NO_HOST("half.example", 80),
	HOST("gone.example", 443),
	NO_HOST("gone.example", 443),
	NO_HOST("only-denied.example", 443),
	HOST("other.example", 8080),
	NO_HOST("other.example", 0),
	SUFFIX("both.example", 0),
	HOST("both.example", 0),
	NET4(32, 0, 8, 8, 8, 8),
	NET4(8, 5432, 10),
	NO_NET4(16, 0, 10, 66),
	NET4(32, 8080, 127, 0, 0, 1),
	NET6(32, 0, 0x26, 0x06, 0x47, 0x00),
	NET6(128, 443, 0xfd, [15] = 1),
};

struct by_name {
	const char *name;
	uint16_t port;
	uint32_t reason;
};

static const struct by_name names[] = {
	{ "ok.example", 80, EGRESS_ALLOWED },
	{ "ok.example", 443, EGRESS_ALLOWED },
	{ "ok.example", 8080, EGRESS_PORT },
	{ "ok.example", 0, EGRESS_PORT },
	{ "a.ok.example", 443, EGRESS_NOT_LISTED },
	{ "xok.example", 443, EGRESS_NOT_LISTED },
	{ "example", 443, EGRESS_NOT_LISTED },
	{ "ok.example.evil.net", 443, EGRESS_NOT_LISTED },
	{ "OK.example", 443, EGRESS_BAD_NAME },
	{ "ok.example.", 443, EGRESS_BAD_NAME },
	{ "", 443, EGRESS_BAD_NAME },
	{ "8.8.8.8", 443, EGRESS_BAD_NAME },
	{ "*.wild.example", 443, EGRESS_BAD_NAME },
	{ "port.example", 8443, EGRESS_ALLOWED },
	{ "port.example", 22, EGRESS_ALLOWED },
	{ "port.example", 443, EGRESS_PORT },
	{ "wild.example", 443, EGRESS_NOT_LISTED },
	{ "a.wild.example", 443, EGRESS_ALLOWED },
	{ "c.b.a.wild.example", 443, EGRESS_ALLOWED },
	{ "notwild.example", 443, EGRESS_NOT_LISTED },
	{ "a.wild.example", 9000, EGRESS_PORT },
	{ "a.deep.wild.example", 9000, EGRESS_ALLOWED },
	{ "a.deep.wild.example", 443, EGRESS_ALLOWED },
	{ "deep.wild.example", 9000, EGRESS_PORT },
	{ "bad.wild.example", 443, EGRESS_DENIED },
	{ "bad.wild.example", 8443, EGRESS_DENIED }, /* without a port a denial holds for all of them */
	{ "a.bad.wild.example", 443, EGRESS_ALLOWED },
	{ "evil.wild.example", 443, EGRESS_ALLOWED },
	{ "a.evil.wild.example", 443, EGRESS_DENIED },
	{ "half.example", 443, EGRESS_ALLOWED },
	{ "half.example", 80, EGRESS_DENIED },
	{ "gone.example", 443, EGRESS_DENIED },
	{ "gone.example", 80, EGRESS_PORT },
	{ "only-denied.example", 443, EGRESS_DENIED },
	{ "only-denied.example", 80, EGRESS_NOT_LISTED },
	{ "other.example", 8080, EGRESS_DENIED },
	{ "both.example", 443, EGRESS_ALLOWED },
	{ "a.both.example", 443, EGRESS_ALLOWED },
	{ "localhost", 443, EGRESS_PRIVATE_ADDRESS },
	{ "a.localhost", 443, EGRESS_PRIVATE_ADDRESS },
};

struct by_address {
	const char *address;
	uint16_t port;
	uint32_t reason;
};

static const struct by_address literals[] = {
	{ "8.8.8.8", 443, EGRESS_ALLOWED },
	{ "8.8.8.8", 53, EGRESS_PORT },
	{ "8.8.4.4", 443, EGRESS_ADDRESS_LITERAL },
	{ "::ffff:8.8.8.8", 443, EGRESS_ALLOWED },
	{ "64:ff9b::808:808", 443, EGRESS_ALLOWED },
	{ "::ffff:8.8.4.4", 443, EGRESS_ADDRESS_LITERAL },
	{ "10.1.2.3", 5432, EGRESS_ALLOWED },
	{ "::ffff:10.1.2.3", 5432, EGRESS_ALLOWED },
	{ "10.1.2.3", 443, EGRESS_PORT },
	{ "10.66.2.3", 5432, EGRESS_DENIED },
	{ "::ffff:10.66.2.3", 5432, EGRESS_DENIED },
	{ "64:ff9b::10.66.2.3", 5432, EGRESS_DENIED },
	{ "2002:a42:203::", 5432, EGRESS_DENIED },
	{ "127.0.0.1", 8080, EGRESS_ALLOWED },
	{ "127.0.0.1", 80, EGRESS_PORT },
	{ "127.0.0.2", 8080, EGRESS_PRIVATE_ADDRESS },
	{ "169.254.169.254", 80, EGRESS_PRIVATE_ADDRESS },
	{ "::ffff:169.254.169.254", 80, EGRESS_PRIVATE_ADDRESS },
	{ "::1", 443, EGRESS_PRIVATE_ADDRESS },
	{ "2606:4700::1", 443, EGRESS_ALLOWED },
	{ "2606:4701::1", 443, EGRESS_ADDRESS_LITERAL },
	{ "fd00::1", 443, EGRESS_ALLOWED },
	{ "fd00::2", 443, EGRESS_PRIVATE_ADDRESS },
	{ "8.8.8.8", 0, EGRESS_PORT },
};

static struct egress_target literal(const char *text, uint16_t port)
{
	struct egress_target t = { .port = port };

	t.family = (uint8_t)address_parse(text, strlen(text), t.address);
	return t;
}

static void check_all(const struct egress_rules *r)
{
	struct egress_verdict v;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const struct egress_target t = { .name = names[i].name, .port = names[i].port };

		egress_decide(r, &t, &v);
		if (v.reason != names[i].reason)
			fail_msg("%s:%u: %s", t.name, t.port, egress_reason_name(v.reason));
		assert_int_equal(v.allowed, v.reason == EGRESS_ALLOWED);
		if (v.reason == EGRESS_ALLOWED)
			assert_false(r->rules[v.rule].deny);
		if (v.reason == EGRESS_DENIED)
			assert_true(r->rules[v.rule].deny);
	}
	for (size_t i = 0; i < ARRAY_SIZE(literals); i++) {
		const struct egress_target t = literal(literals[i].address, literals[i].port);

		egress_decide(r, &t, &v);
		if (v.reason != literals[i].reason)
			fail_msg("%s:%u: %s", literals[i].address, t.port, egress_reason_name(v.reason));
		assert_int_equal(v.allowed, v.reason == EGRESS_ALLOWED);
	}
}

static void order_does_not_matter(void **state)
{
	struct egress_rule copy[ARRAY_SIZE(rules)];
	struct egress_rules r = { .rules = copy, .n_rules = ARRAY_SIZE(rules) };

	memcpy(copy, rules, sizeof(rules));
	srand(1);
	for (unsigned turn = 0; turn < 200; turn++) {
		assert_int_equal(egress_rules_prepare(&r), 0);
		check_all(&r);
		for (size_t i = ARRAY_SIZE(copy) - 1; i > 0; i--) {
			size_t k = (size_t)rand() % (i + 1);
			struct egress_rule swap = copy[i];

			copy[i] = copy[k];
			copy[k] = swap;
		}
	}
	free(r.by_name);
}

static void nothing_allows_nothing(void **state)
{
	struct egress_rule copy[ARRAY_SIZE(rules)];
	struct egress_rules empty = { .n_rules = 0 }, unprepared = { .rules = copy, .n_rules = ARRAY_SIZE(rules) };
	const struct egress_target name = { .name = "ok.example", .port = 443 }, address = literal("8.8.8.8", 443);
	struct egress_verdict v;

	memcpy(copy, rules, sizeof(rules));
	assert_int_equal(egress_rules_prepare(&empty), 0);
	for (unsigned i = 0; i < 2; i++) {
		const struct egress_rules *r = i == 0 ? &empty : &unprepared;

		egress_decide(r, &name, &v);
		assert_int_equal(v.reason, EGRESS_NOT_LISTED);
		assert_int_equal(v.rule, EGRESS_NO_RULE);
		egress_decide(r, &address, &v);
		assert_int_equal(v.reason, EGRESS_ADDRESS_LITERAL);
		egress_decide_dns(r, "ok.example", &v);
		assert_int_equal(v.reason, EGRESS_NOT_LISTED);
	}
	egress_rules_done(&empty);
	egress_rules_done(&empty);
}

/* The reserved kind matches nothing. */
static void any_is_not_there(void **state)
{
	struct egress_rule any[] = { { .kind = EGRESS_RULE_ANY } };
	struct egress_rules r = { .rules = any, .n_rules = 1 };
	const struct egress_target name = { .name = "ok.example", .port = 443 }, address = literal("8.8.8.8", 443);
	struct egress_verdict v;

	assert_int_equal(egress_rules_prepare(&r), 0);
	egress_decide(&r, &name, &v);
	assert_false(v.allowed);
	egress_decide(&r, &address, &v);
	assert_false(v.allowed);
	free(r.by_name);
}

static const struct by_name queries[] = {
	{ "ok.example", 0, EGRESS_ALLOWED },         { "port.example", 0, EGRESS_ALLOWED },
	{ "wild.example", 0, EGRESS_NOT_LISTED },    { "a.wild.example", 0, EGRESS_ALLOWED },
	{ "bad.wild.example", 0, EGRESS_DENIED },    { "half.example", 0, EGRESS_ALLOWED },
	{ "gone.example", 0, EGRESS_DENIED },        { "only-denied.example", 0, EGRESS_NOT_LISTED },
	{ "other.example", 0, EGRESS_DENIED },       { "a.evil.wild.example", 0, EGRESS_DENIED },
	{ "localhost", 0, EGRESS_PRIVATE_ADDRESS },  { "Ok.example", 0, EGRESS_BAD_NAME },
	{ "nowhere.example", 0, EGRESS_NOT_LISTED },
};

static void dns(void **state)
{
	struct egress_rule copy[ARRAY_SIZE(rules)];
	struct egress_rules r = { .rules = copy, .n_rules = ARRAY_SIZE(rules) };
	struct egress_verdict v;

	memcpy(copy, rules, sizeof(rules));
	assert_int_equal(egress_rules_prepare(&r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		egress_decide_dns(&r, queries[i].name, &v);
		if (v.reason != queries[i].reason)
			fail_msg("%s: %s", queries[i].name, egress_reason_name(v.reason));
	}
	free(r.by_name);
}

struct dial {
	const char *name;
	const char *address;
	uint16_t port;
	uint32_t reason;
};

static const struct dial dials[] = {
	{ "ok.example", "8.8.4.4", 443, EGRESS_ALLOWED },
	{ "ok.example", "2a00::1", 443, EGRESS_ALLOWED },
	{ "ok.example", "::ffff:8.8.4.4", 443, EGRESS_ALLOWED },
	{ "ok.example", "127.0.0.1", 443, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "::ffff:127.0.0.1", 443, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "169.254.169.254", 80, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "198.18.0.1", 443, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "2002:808:808::", 443, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "127.0.0.1", 8080, EGRESS_ALLOWED }, /* an address rule names it */
	{ "ok.example", "10.1.2.3", 5432, EGRESS_ALLOWED },
	{ "ok.example", "10.1.2.3", 443, EGRESS_PRIVATE_ADDRESS },
	{ "ok.example", "10.66.2.3", 5432, EGRESS_DENIED },
	{ "pinned.example", "127.0.0.2", 443, EGRESS_ALLOWED },
	{ "pinned.example", "::ffff:127.0.0.2", 443, EGRESS_ALLOWED },
	{ "pinned.example", "127.0.0.3", 443, EGRESS_PRIVATE_ADDRESS },
	{ "pinned.example", "::1", 443, EGRESS_ALLOWED },
	{ "a.pinned.example", "127.0.0.2", 443, EGRESS_PRIVATE_ADDRESS },
	{ "pinned.example", "10.66.0.1", 443, EGRESS_DENIED }, /* pinned, and denied */
};

static void dialled_address(void **state)
{
	struct egress_rule copy[ARRAY_SIZE(rules)];
	struct egress_pin pins[] = {
		{ .name = "z.example", .n_addresses = 1, .addresses = { { AF_INET, { 127, 0, 0, 9 } } } },
		{ .name = "pinned.example",
		  .n_addresses = 3,
		  .addresses = { { AF_INET, { 127, 0, 0, 2 } },
				 { AF_INET6, { [15] = 1 } },
				 { AF_INET, { 10, 66, 0, 1 } } } },
		{ .name = "a.example", .n_addresses = 1, .addresses = { { AF_INET, { 127, 0, 0, 8 } } } },
	};
	struct egress_rules r = {
		.rules = copy, .n_rules = ARRAY_SIZE(rules), .pins = pins, .n_pins = ARRAY_SIZE(pins)
	};
	struct egress_verdict v;

	memcpy(copy, rules, sizeof(rules));
	assert_int_equal(egress_rules_prepare(&r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(dials); i++) {
		struct egress_target t = literal(dials[i].address, dials[i].port);

		egress_decide_address(&r, dials[i].name, t.family, t.address, t.port, &v);
		if (v.reason != dials[i].reason)
			fail_msg("%s at %s: %s", dials[i].name, dials[i].address, egress_reason_name(v.reason));
	}
	assert_int_equal(egress_pin_find(&r, "z.example")->addresses[0].address[3], 9);
	assert_int_equal(egress_pin_find(&r, "a.example")->addresses[0].address[3], 8);
	assert_null(egress_pin_find(&r, "b.example"));
	free(r.by_name);
}

/* A wide network opens no special range, neither to literals nor to names. */
static void wide_networks(void **state)
{
	struct egress_rule wide[] = { NET4(0, 0, 0), NET6(0, 0, 0), NET4(4, 0, 160), SUFFIX("ok.example", 0) };
	struct egress_rules r = { .rules = wide, .n_rules = ARRAY_SIZE(wide) };
	static const struct by_address cases[] = {
		{ "8.8.8.8", 443, EGRESS_ALLOWED },
		{ "127.0.0.1", 443, EGRESS_PRIVATE_ADDRESS },
		{ "169.254.169.254", 80, EGRESS_PRIVATE_ADDRESS },
		{ "172.16.0.1", 80, EGRESS_PRIVATE_ADDRESS },
		{ "2a00::1", 443, EGRESS_ALLOWED },
		{ "::1", 443, EGRESS_PRIVATE_ADDRESS },
		{ "fd00::1", 443, EGRESS_PRIVATE_ADDRESS },
		{ "::ffff:127.0.0.1", 443, EGRESS_PRIVATE_ADDRESS },
	};
	struct egress_verdict v;

	assert_int_equal(egress_rules_prepare(&r), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct egress_target t = literal(cases[i].address, cases[i].port);

		egress_decide(&r, &t, &v);
		if (v.reason != cases[i].reason)
			fail_msg("%s: %s", cases[i].address, egress_reason_name(v.reason));
		egress_decide_address(&r, "a.ok.example", t.family, t.address, t.port, &v);
		assert_int_equal(v.reason, cases[i].reason);
	}
	free(r.by_name);
}

#define MANY 50000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
}

static struct egress_rules many_rules(void)
{
	struct egress_rules r = { .rules = calloc(MANY, sizeof(struct egress_rule)), .n_rules = MANY };

	assert_non_null(r.rules);
	for (uint32_t i = 0; i < MANY; i++) {
		struct egress_rule *rule = &r.rules[i];
		char name[64];

		rule->kind = i % 4 == 3 ? EGRESS_RULE_ADDRESS : i % 4 == 2 ? EGRESS_RULE_SUFFIX : EGRESS_RULE_HOST;
		if (rule->kind == EGRESS_RULE_ADDRESS) {
			rule->family = AF_INET;
			rule->bits = (uint8_t)(32 - i / 4 % 4);
			rule->address[0] = 11;
			rule->address[1] = (uint8_t)(i >> 16);
			rule->address[2] = (uint8_t)(i >> 8);
			rule->address[3] = (uint8_t)(i & 0xf8);
			continue;
		}
		snprintf(name, sizeof(name), "host%u.example.com", i * 7919 % MANY);
		rule->name = strdup(name);
		assert_non_null(rule->name);
	}
	assert_int_equal(egress_rules_prepare(&r), 0);
	return r;
}

static void fifty_thousand_rules(void **state)
{
	enum { TURNS = 20000 };
	struct egress_rules r = many_rules();
	unsigned allowed = 0;
	struct egress_verdict v;
	uint64_t start = now_ns(), each;

	for (uint32_t i = 0; i < TURNS; i++) {
		char name[64];
		struct egress_target t = { .name = name, .port = 443 };

		snprintf(name, sizeof(name), "a.b.host%u.example.com", i);
		egress_decide(&r, &t, &v);
		allowed += v.allowed;
		t = (struct egress_target){ .family = AF_INET,
					    .address = { 11, 0, (uint8_t)(i >> 8), (uint8_t)i },
					    .port = 80 };
		egress_decide(&r, &t, &v);
		allowed += v.allowed;
	}
	each = (now_ns() - start) / (2 * TURNS);
	print_message("%llu ns a decision with %u rules\n", (unsigned long long)each, MANY);
	assert_true(allowed > TURNS / 8);
	/* Ten times what it takes under a sanitizer; a walk over the rules would take hundreds of microseconds. */
	assert_true(each < 100000);
	egress_rules_done(&r);
}

/* Each answer of the index is the answer of a walk over all rules. */
static void index_agrees_with_walk(void **state)
{
	struct egress_rules r = many_rules();

	for (uint32_t i = 0; i < 500; i++) {
		struct egress_target t = { .family = AF_INET, .port = 443 };
		bool expected = false;
		struct egress_verdict v;

		t.address[0] = 11;
		t.address[2] = (uint8_t)(i * 37 >> 3);
		t.address[3] = (uint8_t)(i * 101);
		for (uint32_t k = 0; k < r.n_rules; k++)
			expected |= r.rules[k].kind == EGRESS_RULE_ADDRESS &&
				    address_in_prefix(AF_INET, t.address, AF_INET, r.rules[k].address, r.rules[k].bits);
		egress_decide(&r, &t, &v);
		assert_int_equal(v.allowed, expected);
	}
	egress_rules_done(&r);
}

static void reasons(void **state)
{
	for (uint32_t i = 0; i < EGRESS_REASON_COUNT; i++) {
		const char *text = egress_reason_text(i);

		assert_true(strlen(egress_reason_name(i)) > 2);
		assert_int_equal(text[strlen(text) - 1], '.');
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(egress_reason_name(i), egress_reason_name(k));
	}
	assert_string_equal(egress_reason_name(EGRESS_TLS_TO_PROXY), "tls-to-proxy");
	assert_string_equal(egress_reason_name(EGRESS_REASON_COUNT), "unknown");
	assert_non_null(egress_reason_text(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(nothing_allows_nothing),
		cmocka_unit_test(any_is_not_there),
		cmocka_unit_test(dns),
		cmocka_unit_test(dialled_address),
		cmocka_unit_test(wide_networks),
		cmocka_unit_test(fifty_thousand_rules),
		cmocka_unit_test(index_agrees_with_walk),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
