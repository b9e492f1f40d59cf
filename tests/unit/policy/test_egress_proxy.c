/* What goes through the upstream proxy, and its wire form. */
#include <errno.h>
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
#include "policy/egress_proxy.h"

static struct egress_pin pins[] = {
	{ "bypassed.example", 2, { { AF_INET, { 8, 8, 8, 8 } }, { AF_INET, { 10, 1, 2, 3 } } } },
	{ "far.example", 1, { { AF_INET, { 8, 8, 8, 8 } } } },
	{ "here.example", 1, { { AF_INET, { 127, 0, 0, 2 } } } },
};

static struct egress_rule bypass[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "near.example", .deny = 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "port.example", .port = 8443, .deny = 1 },
	{ .kind = EGRESS_RULE_SUFFIX, .name = "corp.example", .deny = 1 },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 }, .deny = 1 },
};

static const struct {
	const char *host;
	uint16_t port;
	bool takes;
} targets[] = {
	{ "a.example", 443, true },        { "near.example", 443, false },   { "near.example", 22, false },
	{ "x.near.example", 443, true },   { "port.example", 8443, false },  { "port.example", 443, true },
	{ "git.corp.example", 22, false }, { "corp.example", 22, true },     { "localhost", 80, false },
	{ "far.example", 443, true },      { "here.example", 443, false },   { "bypassed.example", 443, false },
	{ "8.8.8.8", 443, true },          { "192.168.0.1", 443, true },     { "10.9.9.9", 5432, false },
	{ "127.0.0.1", 80, false },        { "169.254.169.254", 80, false }, { "::1", 80, false },
	{ "::ffff:127.0.0.1", 80, false }, { "fe80::1", 80, false },         { "2001:4860::8888", 80, true },
};

static bool takes(const struct egress_proxy *p, const char *host, uint16_t port)
{
	const struct egress_rules rules = { .pins = pins, .n_pins = ARRAY_SIZE(pins) };
	struct egress_target t = { .port = port };
	int family = address_parse(host, strlen(host), t.address);

	if (family > 0)
		t.family = (uint8_t)family;
	else
		t.name = host;
	return egress_proxy_takes(p, &rules, &t);
}

static struct egress_proxy sample(void)
{
	struct egress_proxy p = { .name = "proxy.example",
				  .port = 3128,
				  .bypass = { .rules = bypass, .n_rules = ARRAY_SIZE(bypass) } };

	assert_int_equal(egress_rules_prepare(&p.bypass), 0);
	return p;
}

static void what_it_takes(void **state)
{
	struct egress_proxy p = sample();

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		if (takes(&p, targets[i].host, targets[i].port) != targets[i].takes)
			fail_msg("%s:%u", targets[i].host, targets[i].port);
		assert_false(takes(NULL, targets[i].host, targets[i].port));
	}
	free(p.bypass.by_name);
}

static void there_and_back(void **state)
{
	struct egress_proxy forms[] = { sample(),
					{ .family = AF_INET, .address = { 10, 0, 0, 1 }, .port = 1 },
					{ .family = AF_INET6, .address = { 0xfd, [15] = 1 }, .port = 65535 } };

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
		struct egress_proxy got;

		assert_int_equal(egress_proxy_encode(&forms[i], &b), 0);
		assert_int_equal(egress_proxy_decode(b.data, b.len, &got), 0);
		assert_int_equal(got.port, forms[i].port);
		assert_int_equal(got.family, forms[i].family);
		assert_memory_equal(got.address, forms[i].address, 16);
		assert_int_equal(got.bypass.n_rules, forms[i].bypass.n_rules);
		if (i == 0) {
			assert_string_equal(got.name, "proxy.example");
			assert_false(takes(&got, "git.corp.example", 22));
			assert_true(takes(&got, "a.example", 22));
		}
		egress_proxy_done(&got);
		for (size_t len = 0; len < b.len; len++)
			assert_int_equal(egress_proxy_decode(b.data, len, &got), -EBADMSG);
	}
	free(forms[0].bypass.by_name);
}

/* A rule that allows has no meaning there, a pin neither; no port is none. */
static void not_taken(void **state)
{
	struct egress_rule allow = { .kind = EGRESS_RULE_HOST, .name = "a.example" };
	struct egress_proxy wrong[] = {
		{ .name = "p.example", .port = 1, .bypass = { .rules = &allow, .n_rules = 1 } },
		{ .name = "p.example", .port = 1, .bypass = { .pins = pins, .n_pins = 1 } },
		{ .name = "p.example", .port = 0 },
		{ .name = "P.example", .port = 1 },
		{ .name = "127.1", .port = 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_EGRESS);
		struct egress_proxy got;

		assert_int_equal(egress_proxy_encode(&wrong[i], &b), 0);
		assert_int_equal(egress_proxy_decode(b.data, b.len, &got), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_takes),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
