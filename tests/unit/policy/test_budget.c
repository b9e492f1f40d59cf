/* Byte budgets and limits of connections: layers, what is compiled, whose bytes count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "json/write.h"
#include "policy/egress_budget.h"
#include "policy/policy.h"
#include "policy/policy_network.h"

#define NET(text) "{\"sandbox\":{\"network\":{" text "}}}"

static void load(const char *administrator, const char *user, struct policy *ret)
{
	const struct policy_input inputs[] = {
		{ POLICY_ADMINISTRATOR, "/etc/a.json", administrator, strlen(administrator) },
		{ POLICY_USER, "/home/u.json", user, strlen(user) },
	};
	struct error e = ERROR_INIT;

	if (policy_load(inputs, ARRAY_SIZE(inputs), ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

/* Compiled behind the layers' back nothing would be enforced. */
static void built_in(void **state)
{
	struct policy p;

	load("{}", "{}", &p);
	assert_int_equal(p.egress.n_budgets, 0);
	assert_int_equal(p.egress.limits.bytes[EGRESS_OUT] + p.egress.limits.bytes[EGRESS_IN], 0);
	assert_int_equal(p.egress.limits.connections, LIMIT_SESSION_CONNECTIONS);
	assert_int_equal(p.egress.limits.host_connections, 2048);
	assert_int_equal(p.egress.limits.per_second, 10000);
	assert_int_equal(p.egress.limits.host_per_second, 5000);
	policy_done(&p);
}

/* The smallest counts, whoever sets it; two layers about the same hosts have one budget. */
static void the_smallest_counts(void **state)
{
	struct policy p;

	load(NET("\"budget\":{\"bytesOut\":\"1M\",\"hosts\":[{\"host\":\"*.A.example\",\"bytesOut\":10,\"bytesIn\":10}]"
		 "},"
		 "\"limits\":{\"connections\":10,\"newPerSecond\":5}"),
	     NET("\"budget\":{\"bytesOut\":\"2M\",\"bytesIn\":7,\"onExceeded\":\"stop\",\"hosts\":["
		 "{\"host\":\"*.a.example\",\"bytesOut\":20,\"bytesIn\":3},{\"host\":\"a.example\",\"bytesIn\":9}]},"
		 "\"limits\":{\"connections\":20,\"newPerSecond\":4,\"connectionsPerHost\":2,\"newPerSecondPerHost\":"
		 "1}"),
	     &p);
	assert_int_equal(p.egress.limits.bytes[EGRESS_OUT], 1 << 20);
	assert_int_equal(p.egress.limits.bytes[EGRESS_IN], 7);
	assert_int_equal(p.egress.limits.connections, 10);
	assert_int_equal(p.egress.limits.per_second, 4);
	assert_int_equal(p.egress.limits.host_connections, 2);
	assert_int_equal(p.egress.limits.host_per_second, 1);
	assert_int_equal(p.egress.n_budgets, 2);
	assert_int_equal(p.n_budgets, 2);
	assert_int_equal(p.egress.budgets[0].bytes[EGRESS_OUT], 10);
	assert_int_equal(p.egress.budgets[0].bytes[EGRESS_IN], 3);
	assert_int_equal(p.budgets[0].bytes[EGRESS_OUT].origin.layer, POLICY_ADMINISTRATOR);
	assert_int_equal(p.budgets[0].bytes[EGRESS_IN].origin.layer, POLICY_USER);
	assert_int_equal(p.egress.budgets[1].bytes[EGRESS_OUT], 0);
	assert_int_equal(p.egress.budgets[1].bytes[EGRESS_IN], 9);
	policy_done(&p);
}

static void written(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 20);
	struct json_writer *w = json_write_new(&text);
	struct policy p;

	load("{}", NET("\"budget\":{\"hosts\":[{\"host\":\"a.example\",\"bytesIn\":9}]}"), &p);
	policy_write(&p, w);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	assert_non_null(strstr(text.data,
			       "\"hosts\":[{\"host\":\"a.example\",\"bytesOut\":{\"value\":null,\"from\":\"built-in\"},"
			       "\"bytesIn\":{\"value\":9,\"from\":\"user /home/u.json:1\"}}]"));
	assert_non_null(strstr(text.data, "\"newPerSecond\":{\"value\":10000,\"from\":\"built-in\"}"));
	policy_done(&p);
}

static void too_many(void **state)
{
	static char text[64 * 1024];
	struct policy_input input = { POLICY_USER, "u.json", text, 0 };
	struct error e = ERROR_INIT;
	struct policy p;
	size_t n = (size_t)sprintf(text, "{\"sandbox\":{\"network\":{\"budget\":{\"hosts\":[");

	for (int i = 0; i <= LIMIT_EGRESS_BUDGETS; i++)
		n += (size_t)sprintf(text + n, "%s{\"host\":\"h%d.example\",\"bytesIn\":1}", i ? "," : "", i);
	input.len = n + (size_t)sprintf(text + n, "]}}}}");
	assert_int_not_equal(policy_load(&input, 1, &p, &e), 0);
	assert_non_null(strstr(e.message, "more than 63 hosts"));
	policy_done(&p);
}

/* What a reload takes over and what it gives back. */
static void swapped(void **state)
{
	struct policy a, b;

	load("{}", NET("\"budget\":{\"bytesIn\":5,\"hosts\":[{\"host\":\"a.example\",\"bytesIn\":9}]}"), &a);
	load("{}",
	     NET("\"limits\":{\"connections\":3,\"connectionsPerHost\":4,\"newPerSecond\":5,\"newPerSecondPerHost\":"
		 "6}"),
	     &b);
	policy_network_swap(&a, &b);
	assert_int_equal(a.n_budgets, 0);
	assert_int_equal(a.budget[EGRESS_IN].value, 0);
	assert_int_equal(a.egress.limits.connections, 3);
	assert_int_equal(a.connections.value + a.host_connections.value + a.per_second.value + a.host_per_second.value,
			 3 + 4 + 5 + 6);
	assert_int_equal(b.n_budgets, 1);
	assert_string_equal(b.budgets[0].host, "a.example");
	assert_int_equal(b.budget[EGRESS_IN].value, 5);
	policy_done(&a);
	policy_done(&b);
}

static void whose_bytes(void **state)
{
	static struct egress_budget budgets[] = {
		{ .host = { .kind = EGRESS_RULE_HOST, .name = "a.example" } },
		{ .host = { .kind = EGRESS_RULE_SUFFIX, .name = "a.example" } },
		{ .host = { .kind = EGRESS_RULE_HOST, .name = "x.a.example", .port = 22 } },
		{ .host = { .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 8, .address = { 10 } } },
	};
	const struct egress_rules r = { .budgets = budgets, .n_budgets = ARRAY_SIZE(budgets) };
	static const struct {
		struct egress_target target;
		uint64_t accounts;
	} cases[] = {
		{ { .name = "a.example", .port = 1 }, 1 | 2 },
		{ { .name = "x.a.example", .port = 443 }, 1 | 4 },
		{ { .name = "x.a.example", .port = 22 }, 1 | 4 | 8 },
		{ { .name = "ba.example", .port = 443 }, 1 },
		{ { .name = "example", .port = 443 }, 1 },
		{ { .family = AF_INET, .address = { 10, 1 }, .port = 443 }, 1 | 16 },
		{ { .family = AF_INET6, .address = { [10] = 0xff, [11] = 0xff, [12] = 10 }, .port = 443 }, 1 | 16 },
		{ { .family = AF_INET, .address = { 11, 1 }, .port = 443 }, 1 },
		/* A name whose address is known by now. */
		{ { .name = "a.example", .family = AF_INET, .address = { 10, 1 }, .port = 443 }, 1 | 2 | 16 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(egress_budget_accounts(&r, &cases[i].target), cases[i].accounts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(built_in), cmocka_unit_test(the_smallest_counts),
		cmocka_unit_test(written),  cmocka_unit_test(too_many),
		cmocka_unit_test(swapped),  cmocka_unit_test(whose_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
