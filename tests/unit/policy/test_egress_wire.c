/* The wire form there and back, and what is not taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/egress_wire.h"

static struct egress_rule rules[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "ok.example", .port = 8443, .once = 0x80000001 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "wild.example", .deny = 1, .why = "It tracks." },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 } },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 32, .address = { 0x20, 1, 0xd, 0xb8 }, .deny = 1 },
};

static struct egress_pin pins[] = {
	{ .name = "ok.example",
	  .n_addresses = 2,
	  .addresses = { { AF_INET, { 127, 0, 0, 2 } }, { AF_INET6, { [15] = 1 } } } },
};

static struct egress_budget budgets[] = {
	{ .host = { .kind = EGRESS_RULE_SUFFIX, .name = "wild.example", .port = 443, .deny = 1 },
	  .bytes = { 1, 1ULL << 40 } },
	{ .host = { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 }, .deny = 1 },
	  .bytes = { 0, 7 } },
};

static struct egress_rule no_sni[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "old.example", .port = 8443, .deny = 1 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "devices.example", .deny = 1 },
};

static const struct egress_rules sample = {
	.rules = rules,
	.n_rules = ARRAY_SIZE(rules),
	.pins = pins,
	.n_pins = ARRAY_SIZE(pins),
	.budgets = budgets,
	.n_budgets = ARRAY_SIZE(budgets),
	.tls = { .ech_denied = true, .no_sni = no_sni, .n_no_sni = ARRAY_SIZE(no_sni) },
	.unlisted = EGRESS_UNLISTED_LEARN,
	.limits = { .bytes = { 5, 6 }, .connections = 1, .host_connections = 2, .per_second = 3, .host_per_second = 4 },
};

static int decode(const struct buffer *b, struct egress_rules *ret)
{
	return egress_decode(b->data, b->len, ret);
}

static void round_trip(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS), again = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_rules got;

	assert_int_equal(egress_encode(&sample, &b), 0);
	assert_int_equal(decode(&b, &got), 0);
	assert_int_equal(got.n_rules, sample.n_rules);
	assert_int_equal(got.n_pins, sample.n_pins);
	assert_int_equal(got.unlisted, EGRESS_UNLISTED_LEARN);
	for (uint32_t i = 0; i < got.n_rules; i++) {
		const struct egress_rule *g = &got.rules[i], *r = &rules[i];

		assert_int_equal(g->kind, r->kind);
		assert_int_equal(g->deny, r->deny);
		assert_int_equal(g->port, r->port);
		assert_int_equal(g->family, r->family);
		assert_int_equal(g->bits, r->bits);
		assert_int_equal(g->once, r->once);
		assert_false(g->spent);
		assert_memory_equal(g->address, r->address, 16);
		if (r->why)
			assert_string_equal(g->why, r->why);
		else
			assert_null(g->why);
		if (r->name)
			assert_string_equal(g->name, r->name);
		else
			assert_null(g->name);
	}
	assert_string_equal(got.pins[0].name, "ok.example");
	assert_int_equal(got.pins[0].n_addresses, 2);
	assert_int_equal(got.pins[0].addresses[1].family, AF_INET6);
	assert_memory_equal(got.pins[0].addresses[1].address, pins[0].addresses[1].address, 16);
	assert_memory_equal(&got.limits, &sample.limits, sizeof(got.limits));
	assert_int_equal(got.n_budgets, ARRAY_SIZE(budgets));
	assert_string_equal(got.budgets[0].host.name, "wild.example");
	assert_int_equal(got.budgets[0].host.port, 443);
	assert_memory_equal(got.budgets[0].bytes, budgets[0].bytes, sizeof(budgets[0].bytes));
	assert_int_equal(got.budgets[1].bytes[EGRESS_IN], 7);
	assert_true(got.tls.ech_denied);
	assert_int_equal(got.tls.n_no_sni, ARRAY_SIZE(no_sni));
	assert_string_equal(got.tls.no_sni[0].name, "old.example");
	assert_int_equal(got.tls.no_sni[0].port, 8443);
	assert_int_equal(got.tls.no_sni[1].kind, EGRESS_RULE_SUFFIX);
	assert_int_equal(egress_encode(&got, &again), 0);
	assert_int_equal(again.len, b.len);
	assert_memory_equal(again.data, b.data, b.len);
	egress_rules_done(&got);
}

static void budgets_not_taken(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS), c = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_budget allowing = { .host = { .kind = EGRESS_RULE_HOST, .name = "a.example" } };
	struct egress_rules r = { .budgets = &allowing, .n_budgets = 1 }, got;

	assert_int_equal(egress_encode(&r, &b), -EINVAL);
	r.n_budgets = LIMIT_EGRESS_BUDGETS + 1;
	assert_int_equal(egress_encode(&r, &b), -EMSGSIZE);
	r = (struct egress_rules){ .limits = { .per_second = LIMIT_EGRESS_RATE + 1 } };
	assert_int_equal(egress_encode(&r, &c), 0);
	assert_int_equal(decode(&c, &got), -EBADMSG);
}

/* Only names, as many as are compared, and a count that the message can hold. */
static void tls_not_taken(void **state)
{
	static struct egress_rule wrong[] = {
		{ .kind = EGRESS_RULE_HOST, .name = "a.example" },
		{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 }, .deny = 1 },
		{ .kind = EGRESS_RULE_HOST, .name = "a.example", .deny = 1, .why = "No." },
	};
	static const struct {
		uint8_t denied;
		uint32_t n;
		uint32_t first; /* of wrong[], encoded as a rule; none: past its end */
	} tails[] = {
		{ 2, 0, 3 }, { 0, 1, 3 }, { 0, LIMIT_EGRESS_NO_SNI + 1, 3 }, { 0, UINT32_MAX, 3 }, { 0, 1, 0 },
		{ 0, 1, 1 }, { 0, 1, 2 },
	};
	struct egress_rules got;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
		const struct egress_rules r = { .tls = { .no_sni = &wrong[i], .n_no_sni = 1 } };

		assert_int_equal(egress_encode(&r, &b), -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS), one = BUFFER_INIT(LIMIT_EGRESS);
		const struct egress_rules none = { .n_rules = 0 };
		size_t head;

		assert_int_equal(egress_encode(&none, &b), 0);
		head = b.len;
		b.len -= 5;
		assert_int_equal(buffer_append_u8(&b, tails[i].denied), 0);
		assert_int_equal(buffer_append_u32(&b, tails[i].n), 0);
		if (tails[i].first < ARRAY_SIZE(wrong)) {
			const struct egress_rules r = { .rules = &wrong[tails[i].first], .n_rules = 1 };

			/* The rule alone: between the head and what follows the rules. */
			assert_int_equal(egress_encode(&r, &one), 0);
			assert_int_equal(buffer_append(&b, one.data + head - 5, one.len - head), 0);
		}
		assert_int_equal(decode(&b, &got), -EBADMSG);
	}
	got = (struct egress_rules){ .tls = { .no_sni = no_sni, .n_no_sni = LIMIT_EGRESS_NO_SNI + 1 } };
	{
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);

		assert_int_equal(egress_encode(&got, &b), -EMSGSIZE);
	}
}

static void prepared(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
	const struct egress_target t = { .name = "ok.example", .port = 8443 };
	struct egress_rules got;
	struct egress_verdict v;

	assert_int_equal(egress_encode(&sample, &b), 0);
	assert_int_equal(decode(&b, &got), 0);
	egress_decide(&got, &t, &v);
	assert_true(v.allowed);
	assert_non_null(egress_pin_find(&got, "ok.example"));
	egress_rules_done(&got);
}

static void cut_and_trailing(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_rules got = { .n_rules = 77 };

	assert_int_equal(egress_encode(&sample, &b), 0);
	for (size_t len = 0; len < b.len; len++) {
		/* A block of its own, so that a sanitizer sees a byte read too far. */
		char *copy = malloc(len + 1);

		assert_non_null(copy);
		memcpy(copy + 1, b.data, len);
		assert_int_equal(egress_decode(copy + 1, len, &got), -EBADMSG);
		free(copy);
	}
	assert_int_equal(buffer_append_u8(&b, 0), 0);
	assert_int_equal(decode(&b, &got), -EBADMSG);
	assert_int_equal(got.n_rules, 77);
}

/* Any flipped bit gives a clean refusal or rules that encode to those very bytes: no second spelling. */
static void flipped_bits(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
	unsigned refused = 0;

	assert_int_equal(egress_encode(&sample, &b), 0);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		struct egress_rules got;

		b.data[bit / 8] = (char)(b.data[bit / 8] ^ (1 << bit % 8));
		if (decode(&b, &got) == 0) {
			_cleanup_buffer_ struct buffer again = BUFFER_INIT(LIMIT_EGRESS);

			assert_int_equal(egress_encode(&got, &again), 0);
			assert_int_equal(again.len, b.len);
			assert_memory_equal(again.data, b.data, b.len);
			egress_rules_done(&got);
		} else {
			refused++;
		}
		b.data[bit / 8] = (char)(b.data[bit / 8] ^ (1 << bit % 8));
	}
	assert_true(refused > b.len);
}

struct bad_rule {
	const char *what;
	struct egress_rule rule;
};

static const struct bad_rule bad_rules[] = {
	{ "upper case", { .kind = EGRESS_RULE_HOST, .name = "OK.example" } },
	{ "trailing dot", { .kind = EGRESS_RULE_HOST, .name = "ok.example." } },
	{ "empty", { .kind = EGRESS_RULE_HOST, .name = "" } },
	{ "star", { .kind = EGRESS_RULE_SUFFIX, .name = "*.example.com" } },
	{ "address", { .kind = EGRESS_RULE_HOST, .name = "127.0.0.1" } },
	{ "localhost", { .kind = EGRESS_RULE_HOST, .name = "localhost" } },
	{ "below localhost", { .kind = EGRESS_RULE_SUFFIX, .name = "a.localhost" } },
	{ "a text that acts", { .kind = EGRESS_RULE_HOST, .deny = 1, .name = "a.example", .why = "a\033[2J" } },
	{ "a blank text", { .kind = EGRESS_RULE_HOST, .deny = 1, .name = "a.example", .why = "  " } },
	{ "top level", { .kind = EGRESS_RULE_SUFFIX, .name = "com" } },
	{ "bits of v4", { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 33, .address = { 10 } } },
	{ "bits of v6", { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 129 } },
	{ "host bits", { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10, 1 } } },
};

static void rules_not_taken(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad_rules); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
		struct egress_rule rule = bad_rules[i].rule;
		const struct egress_rules r = { .rules = &rule, .n_rules = 1 };
		struct egress_rules got;

		assert_int_equal(egress_encode(&r, &b), 0);
		if (decode(&b, &got) != -EBADMSG)
			fail_msg("%s", bad_rules[i].what);
	}
}

static void not_encoded(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS), small = BUFFER_INIT(30);
	struct egress_rule any = { .kind = EGRESS_RULE_ANY };
	struct egress_rule denial = { .kind = EGRESS_RULE_HOST, .deny = 1, .name = "a.example", .once = 1 };
	const struct egress_rules denied_once = { .rules = &denial, .n_rules = 1 };
	const struct egress_rules reserved = { .rules = &any, .n_rules = 1 };
	const struct egress_rules too_many = { .rules = rules, .n_rules = LIMIT_EGRESS_RULES + 1 };

	assert_int_equal(egress_encode(&reserved, &b), -EINVAL);
	assert_int_equal(egress_encode(&denied_once, &b), -EINVAL);
	assert_int_equal(egress_encode(&too_many, &b), -EMSGSIZE);
	assert_int_equal(egress_encode(&sample, &small), -EMSGSIZE);
}

static void pins_sorted_and_single(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS), twice = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_pin three[] = {
		{ .name = "c.example", .n_addresses = 1, .addresses = { { AF_INET, { 1 } } } },
		{ .name = "a.example", .n_addresses = 1, .addresses = { { AF_INET, { 2 } } } },
		{ .name = "b.example", .n_addresses = 1, .addresses = { { AF_INET, { 3 } } } },
	};
	const struct egress_rules r = { .pins = three, .n_pins = ARRAY_SIZE(three) };
	struct egress_rules got;

	assert_int_equal(egress_encode(&r, &b), 0);
	assert_int_equal(decode(&b, &got), 0);
	assert_int_equal(egress_pin_find(&got, "c.example")->addresses[0].address[0], 1);
	assert_int_equal(egress_pin_find(&got, "b.example")->addresses[0].address[0], 3);
	egress_rules_done(&got);
	three[2].name = "c.example";
	assert_int_equal(egress_encode(&r, &twice), 0);
	assert_int_equal(decode(&twice, &got), -EBADMSG);
	three[2].name = "B.example";
	twice.len = 0;
	assert_int_equal(egress_encode(&r, &twice), 0);
	assert_int_equal(decode(&twice, &got), -EBADMSG);
	three[2].name = "b.example";
	three[2].n_addresses = 0;
	twice.len = 0;
	assert_int_equal(egress_encode(&r, &twice), 0);
	assert_int_equal(decode(&twice, &got), -EBADMSG);
}

/* A header that promises more than the message can hold must not cost memory. */
static void counts(void **state)
{
	static const uint32_t heads[][6] = {
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, 1, 0, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, 0, 1, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, LIMIT_EGRESS_RULES + 1, 0, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, UINT32_MAX, UINT32_MAX, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, EGRESS_UNLISTED_COUNT, 0, 0, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION + 1, 0, 0, 0, 0 },
		{ EGRESS_WIRE_MAGIC + 1, EGRESS_WIRE_VERSION, 0, 0, 0, 0 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, 0, 0, 1 },
		{ EGRESS_WIRE_MAGIC, EGRESS_WIRE_VERSION, 0, 0, 0, LIMIT_EGRESS_BUDGETS + 1 },
	};
	static char large[LIMIT_EGRESS + 1];
	struct egress_rules got;

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);

		for (size_t k = 0; k < ARRAY_SIZE(heads[i]); k++)
			assert_int_equal(buffer_append_u32(&b, heads[i][k]), 0);
		assert_int_equal(decode(&b, &got), -EBADMSG);
	}
	assert_int_equal(egress_decode(large, sizeof(large), &got), -EBADMSG);
	assert_int_equal(egress_decode(NULL, 0, &got), -EBADMSG);
}

static void empty_is_nothing(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
	const struct egress_rules none = { .n_rules = 0 };
	const struct egress_target t = { .name = "ok.example", .port = 443 };
	struct egress_rules got;
	struct egress_verdict v;

	assert_int_equal(egress_encode(&none, &b), 0);
	assert_int_equal(decode(&b, &got), 0);
	egress_decide(&got, &t, &v);
	assert_int_equal(v.reason, EGRESS_NOT_LISTED);
	egress_rules_done(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),    cmocka_unit_test(budgets_not_taken),
		cmocka_unit_test(prepared),      cmocka_unit_test(cut_and_trailing),
		cmocka_unit_test(flipped_bits),  cmocka_unit_test(rules_not_taken),
		cmocka_unit_test(not_encoded),   cmocka_unit_test(pins_sorted_and_single),
		cmocka_unit_test(counts),        cmocka_unit_test(empty_is_nothing),
		cmocka_unit_test(tls_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
