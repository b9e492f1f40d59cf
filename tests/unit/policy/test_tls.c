/* network.tls: whose word counts, what is compiled, what is shown, what a reload takes over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "json/write.h"
#include "policy/egress_tls.h"
#include "policy/policy.h"
#include "policy/policy_digest.h"
#include "policy/policy_network.h"

#define TLS(text) "{\"sandbox\":{\"network\":{\"tls\":{" text "}}}}"
#define ECH(word) TLS("\"ech\":\"" word "\"")

/* NULL: the layer says nothing. */
static void load(const char *administrator, const char *user, const char *file, struct policy *ret)
{
	const char *const texts[] = { administrator, user, file };
	static const enum policy_layer_kind layers[] = { POLICY_ADMINISTRATOR, POLICY_USER, POLICY_FILE };
	static const char *const paths[] = { "/etc/a.json", "/home/u.json", "f.json" };
	struct policy_input inputs[ARRAY_SIZE(texts)];
	struct error e = ERROR_INIT;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i])
			inputs[n++] = (struct policy_input){ layers[i], paths[i], texts[i], strlen(texts[i]) };
	if (policy_load(inputs, n, ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

/* Whoever denies ECH has denied it. */
static void ech_of_layers(void **state)
{
	static const struct {
		const char *texts[3];
		bool denied;
		enum policy_layer_kind from;
	} cases[] = {
		{ { NULL, NULL, NULL }, false, POLICY_BUILT_IN },
		{ { ECH("allow"), NULL, NULL }, false, POLICY_ADMINISTRATOR },
		{ { ECH("deny"), ECH("allow"), ECH("allow") }, true, POLICY_ADMINISTRATOR },
		{ { ECH("allow"), ECH("deny"), ECH("allow") }, true, POLICY_USER },
		{ { ECH("allow"), ECH("allow"), ECH("deny") }, true, POLICY_FILE },
		{ { NULL, NULL, ECH("deny") }, true, POLICY_FILE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy p;

		load(cases[i].texts[0], cases[i].texts[1], cases[i].texts[2], &p);
		assert_int_equal(p.egress.tls.ech_denied, cases[i].denied);
		assert_int_equal(p.ech_denied.origin.layer, cases[i].from);
		policy_done(&p);
	}
}

static void unnamed_of_layers(void **state)
{
	const struct egress_target t = { .name = "a.devices.example", .port = 8883 };
	struct policy p;

	load(TLS("\"noSni\":[\"Old.example:443\"]"), TLS("\"noSni\":[\"*.devices.example\"]"), ECH("deny"), &p);
	assert_int_equal(p.egress.tls.n_no_sni, 2);
	assert_int_equal(p.no_sni.count, 2);
	assert_string_equal(p.egress.tls.no_sni[0].name, "old.example");
	assert_string_equal(p.no_sni.items[0].text, "Old.example:443");
	assert_int_equal(p.no_sni.items[1].origin.layer, POLICY_USER);
	assert_true(egress_tls_needs_no_name(&p.egress, &t));
	policy_done(&p);
}

/* What may come with a project, and what no option makes. */
static void unnamed_of_others(void **state)
{
	static const enum policy_layer_kind layers[] = { POLICY_FILE, POLICY_COMMAND_LINE };
	static const char text[] = TLS("\"noSni\":[\"a.example\"]");

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		const struct policy_input input = { layers[i], "f.json", text, strlen(text) };
		struct error e = ERROR_INIT;
		struct policy p;

		assert_int_not_equal(policy_load(&input, 1, &p, &e), 0);
		assert_int_equal(e.code, ERROR_POLICY);
		assert_string_equal(e.step, "f.json:1: sandbox.network.tls.noSni");
		assert_non_null(strstr(e.message, "user's own policy"));
		assert_non_null(strstr(e.remedy, "~/.config/isod/policy.json"));
		policy_done(&p);
	}
}

static void too_many(void **state)
{
	static char text[64 * 1024];
	struct policy_input input = { POLICY_USER, "u.json", text, 0 };
	struct error e = ERROR_INIT;
	struct policy p;
	size_t n = (size_t)sprintf(text, "{\"sandbox\":{\"network\":{\"tls\":{\"noSni\":[");

	for (int i = 0; i <= LIMIT_EGRESS_NO_SNI; i++)
		n += (size_t)sprintf(text + n, "%s\"h%d.example\"", i ? "," : "", i);
	input.len = n + (size_t)sprintf(text + n, "]}}}}");
	assert_int_not_equal(policy_load(&input, 1, &p, &e), 0);
	assert_non_null(strstr(e.message, "more than 256 hosts"));
	policy_done(&p);
}

static void written(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 20);
	struct json_writer *w = json_write_new(&text);
	char plain[65], denied[65], unnamed[65];
	struct policy p;

	load(NULL, NULL, NULL, &p);
	assert_int_equal(policy_digest(&p, plain), 0);
	policy_done(&p);
	load(NULL, NULL, ECH("deny"), &p);
	assert_int_equal(policy_digest(&p, denied), 0);
	policy_done(&p);
	load(NULL, TLS("\"noSni\":[\"a.example\"]"), NULL, &p);
	assert_int_equal(policy_digest(&p, unnamed), 0);
	assert_string_not_equal(plain, denied);
	assert_string_not_equal(plain, unnamed);
	policy_write(&p, w);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(buffer_append(&text, "", 1), 0);
	assert_non_null(strstr(text.data, "\"tls\":{\"ech\":{\"value\":\"allow\",\"from\":\"built-in\"},\"noSni\":["
					  "{\"value\":\"a.example\",\"from\":\"user /home/u.json:1\"}]}"));
	policy_done(&p);
}

/* What a reload takes over and what it gives back. */
static void swapped(void **state)
{
	struct policy a, b;

	load(NULL, TLS("\"ech\":\"deny\",\"noSni\":[\"a.example\"]"), NULL, &a);
	load(NULL, NULL, NULL, &b);
	policy_network_swap(&a, &b);
	assert_false(a.ech_denied.on || a.egress.tls.ech_denied || a.no_sni.count || a.egress.tls.n_no_sni);
	assert_true(b.ech_denied.on && b.egress.tls.ech_denied);
	assert_int_equal(b.no_sni.count, 1);
	assert_int_equal(b.egress.tls.n_no_sni, 1);
	policy_done(&a);
	policy_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ech_of_layers),     cmocka_unit_test(unnamed_of_layers),
		cmocka_unit_test(unnamed_of_others), cmocka_unit_test(too_many),
		cmocka_unit_test(written),           cmocka_unit_test(swapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
