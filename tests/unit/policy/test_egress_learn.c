/* onUnlisted: what "learn" lets through, and what it never does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/address.h"
#include "policy/egress.h"

static struct egress_rule rules[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "ok.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "bad.example", .deny = 1 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "bad.example", .deny = 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "half.example", .port = 22, .deny = 1 },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 32, .port = 443, .address = { 10, 1, 2, 3 } },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 32, .address = { 9, 9, 9, 9 }, .deny = 1 },
};

static struct egress_pin pins[] = {
	{ .name = "db.example", .n_addresses = 1, .addresses = { { AF_INET, { 10, 0, 0, 5 } } } },
	{ .name = "ok.example", .n_addresses = 1, .addresses = { { AF_INET, { 10, 0, 0, 6 } } } },
};

static struct egress_rules r = {
	.rules = rules, .n_rules = ARRAY_SIZE(rules), .pins = pins, .n_pins = ARRAY_SIZE(pins)
};

static const struct {
	const char *name;
	uint16_t port;
	uint32_t learn, deny; /* reasons */
} names[] = {
	{ "ok.example", 443, EGRESS_ALLOWED, EGRESS_ALLOWED },
	{ "ok.example", 8443, EGRESS_LEARNED, EGRESS_PORT },
	{ "new.example", 443, EGRESS_LEARNED, EGRESS_NOT_LISTED },
	{ "new.example", 0, EGRESS_PORT, EGRESS_PORT },
	{ "db.example", 443, EGRESS_LEARNED, EGRESS_NOT_LISTED },
	{ "bad.example", 443, EGRESS_DENIED, EGRESS_DENIED },
	{ "a.bad.example", 8443, EGRESS_DENIED, EGRESS_DENIED },
	{ "half.example", 22, EGRESS_DENIED, EGRESS_DENIED },
	{ "half.example", 443, EGRESS_LEARNED, EGRESS_NOT_LISTED },
	{ "NEW.example", 443, EGRESS_BAD_NAME, EGRESS_BAD_NAME },
	{ "localhost", 443, EGRESS_PRIVATE_ADDRESS, EGRESS_PRIVATE_ADDRESS },
	{ "a.localhost", 443, EGRESS_PRIVATE_ADDRESS, EGRESS_PRIVATE_ADDRESS },
	{ "buildbox", 443, EGRESS_NOT_LISTED, EGRESS_NOT_LISTED },
	{ "printer.local", 443, EGRESS_NOT_LISTED, EGRESS_NOT_LISTED },
	{ "metadata.google.internal", 80, EGRESS_NOT_LISTED, EGRESS_NOT_LISTED },
	{ "1.0.0.10.in-addr.arpa", 443, EGRESS_NOT_LISTED, EGRESS_NOT_LISTED },
};

static void by_name(void **state)
{
	static const uint32_t ways[] = { EGRESS_UNLISTED_LEARN, EGRESS_UNLISTED_DENY, EGRESS_UNLISTED_ASK };

	for (size_t k = 0; k < ARRAY_SIZE(ways); k++) {
		r.unlisted = ways[k];
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			const struct egress_target t = { .name = names[i].name, .port = names[i].port };
			uint32_t reason = k == 1 ? names[i].deny : names[i].learn;
			struct egress_verdict v;

			/* What is let through to be learned is what is asked about. */
			if (k == 2 && reason == EGRESS_LEARNED)
				reason = EGRESS_ASKED;
			egress_decide(&r, &t, &v);
			if (v.reason != reason)
				fail_msg("%s:%u: %s", t.name, t.port, egress_reason_name(v.reason));
			assert_int_equal(v.allowed, reason == EGRESS_ALLOWED || reason == EGRESS_LEARNED);
			if (reason == EGRESS_LEARNED)
				assert_int_equal(v.rule, EGRESS_NO_RULE);
		}
	}
}

static void by_dns(void **state)
{
	static const struct {
		const char *name;
		uint32_t reason;
	} queries[] = {
		{ "ok.example", EGRESS_ALLOWED },    { "new.example", EGRESS_LEARNED },
		{ "bad.example", EGRESS_DENIED },    { "a.bad.example", EGRESS_DENIED },
		{ "half.example", EGRESS_LEARNED },  { "buildbox", EGRESS_NOT_LISTED },
		{ "x.internal", EGRESS_NOT_LISTED }, { "localhost", EGRESS_PRIVATE_ADDRESS },
		{ "New.example", EGRESS_BAD_NAME },
	};

	r.unlisted = EGRESS_UNLISTED_LEARN;
	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		struct egress_verdict v;

		egress_decide_dns(&r, queries[i].name, &v);
		if (v.reason != queries[i].reason)
			fail_msg("%s: %s", queries[i].name, egress_reason_name(v.reason));
	}
}

/* Literals are no names; the addresses that a name leads to are judged as ever, and pins are not for what is learned.
 */
static void addresses(void **state)
{
	static const struct {
		const char *name, *address;
		uint16_t port;
		uint32_t reason;
	} dials[] = {
		{ "new.example", "8.8.8.8", 443, EGRESS_ALLOWED },
		{ "new.example", "10.0.0.5", 443, EGRESS_PRIVATE_ADDRESS },
		{ "new.example", "169.254.169.254", 80, EGRESS_PRIVATE_ADDRESS },
		{ "new.example", "::1", 443, EGRESS_PRIVATE_ADDRESS },
		{ "new.example", "9.9.9.9", 443, EGRESS_DENIED },
		{ "new.example", "10.1.2.3", 443, EGRESS_ALLOWED }, /* a rule opens the address itself */
		{ "db.example", "10.0.0.5", 443, EGRESS_PRIVATE_ADDRESS },
		{ "ok.example", "10.0.0.6", 443, EGRESS_ALLOWED },
		{ "ok.example", "10.0.0.6", 8443, EGRESS_PRIVATE_ADDRESS },
	};
	struct egress_target t = { .family = AF_INET, .address = { 8, 8, 8, 8 }, .port = 443 };
	struct egress_verdict v;

	r.unlisted = EGRESS_UNLISTED_LEARN;
	egress_decide(&r, &t, &v);
	assert_int_equal(v.reason, EGRESS_ADDRESS_LITERAL);
	for (size_t i = 0; i < ARRAY_SIZE(dials); i++) {
		int family = address_parse(dials[i].address, strlen(dials[i].address), t.address);

		egress_decide_address(&r, dials[i].name, (uint8_t)family, t.address, dials[i].port, &v);
		if (v.reason != dials[i].reason)
			fail_msg("%s at %s: %s", dials[i].name, dials[i].address, egress_reason_name(v.reason));
	}
	r.unlisted = EGRESS_UNLISTED_DENY;
	egress_decide_address(&r, "db.example", AF_INET, pins[0].addresses[0].address, 443, &v);
	assert_int_equal(v.reason, EGRESS_ALLOWED);
}

static int set_up(void **state)
{
	return egress_rules_prepare(&r);
}

static int tear_down(void **state)
{
	free(r.by_name);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_name),
		cmocka_unit_test(by_dns),
		cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
