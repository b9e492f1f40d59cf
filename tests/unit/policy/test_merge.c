/* Several layers: which value counts, where it came from, what is written. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "json/value.h"
#include "json/write.h"
#include "policy/policy.h"
#include "policy/policy_digest.h"

/* One text a layer, from the administrator on; NULL: there is none. */
struct layers {
	const char *text[POLICY_LAYER_COUNT - 1];
};

static int load(const struct layers *layers, struct policy *ret, struct error *e)
{
	static const char *const paths[] = { "/etc/isod/policy.json", "/home/u/.config/isod/policy.json", "f.json",
					     "" };
	struct policy_input inputs[POLICY_LAYER_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(layers->text); i++)
		if (layers->text[i])
			inputs[n++] =
				(struct policy_input){ .layer = (enum policy_layer_kind)(POLICY_ADMINISTRATOR + i),
						       .path = paths[i],
						       .text = layers->text[i],
						       .len = strlen(layers->text[i]) };
	*e = (struct error)ERROR_INIT;
	return policy_load(inputs, n, ret, e);
}

static void must_load(const struct layers *layers, struct policy *ret)
{
	struct error e;

	if (load(layers, ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

static void built_in(void **state)
{
	const struct layers none = { { NULL } };
	struct policy p;

	must_load(&none, &p);
	assert_int_equal(p.egress.n_rules, 0);
	assert_int_equal(p.allow_read.count + p.allow_write.count + p.environment_pass.count, 0);
	assert_int_equal(p.memory.value, 0);
	assert_int_equal(p.pids.value, 4096);
	assert_int_equal(p.pids.origin.layer, POLICY_BUILT_IN);
	assert_false(p.nesting);
	assert_string_equal(policy_layer_name(POLICY_BUILT_IN), "built-in");
	assert_string_equal(policy_layer_name(POLICY_COMMAND_LINE), "command-line");
	assert_string_equal(policy_layer_name(POLICY_LAYER_COUNT), "unknown");
	policy_done(&p);
}

#define DOMAINS(allowed, denied)                                                                                       \
	"{\"sandbox\":{\"network\":{\"allowedDomains\":[" allowed "],\"deniedDomains\":[" denied "]}}}"

static void lists_append_and_deny_wins(void **state)
{
	const struct layers layers = { { DOMAINS("\"a.example\"", "\"x.example\""),
					 DOMAINS("\"b.example\",\"x.example\"", ""), DOMAINS("", "\"a.example\""),
					 DOMAINS("\"c.example\",\"a.example\"", "") } };
	static const char *const order[] = { "a.example", "b.example", "x.example", "c.example",
					     "a.example", "x.example", "a.example" };
	static const struct {
		const char *name;
		uint32_t reason;
		uint32_t rule;
	} cases[] = { { "a.example", EGRESS_DENIED, 6 },
		      { "b.example", EGRESS_ALLOWED, 1 },
		      { "c.example", EGRESS_ALLOWED, 3 },
		      { "x.example", EGRESS_DENIED, 5 } };
	struct policy p;

	must_load(&layers, &p);
	assert_int_equal(p.allowed_domains.count, 5);
	assert_int_equal(p.denied_domains.count, 2);
	assert_int_equal(p.egress.n_rules, ARRAY_SIZE(order));
	for (uint32_t i = 0; i < p.egress.n_rules; i++) {
		bool deny = i >= p.allowed_domains.count;
		const struct policy_text *text =
			deny ? &p.denied_domains.items[i - p.allowed_domains.count] : &p.allowed_domains.items[i];

		assert_string_equal(p.egress.rules[i].name, order[i]);
		assert_string_equal(text->text, order[i]);
		assert_int_equal(p.egress.rules[i].deny, deny);
	}
	assert_int_equal(p.allowed_domains.items[3].origin.layer, POLICY_COMMAND_LINE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct egress_target t = { .name = cases[i].name, .port = 443 };
		struct egress_verdict v;

		egress_decide(&p.egress, &t, &v);
		assert_int_equal(v.reason, cases[i].reason);
		assert_int_equal(v.rule, cases[i].rule);
	}
	policy_done(&p);
}

/* A reason stays with its rule through layers, and is written in the form in which it can be read again. */
static void denials_say_why(void **state)
{
	const struct layers layers = { { DOMAINS("", "{\"host\":\"*.x.example\",\"reason\":\"It tracks.\"}"), NULL,
					 DOMAINS("\"a.example\"", "\"b.example\""), NULL } };
	static const char written[] = "\"deniedDomains\":[{\"host\":\"*.x.example\",\"reason\":\"It tracks.\"},"
				      "\"b.example\"]";
	const struct egress_target t = { .name = "a.x.example", .port = 443 };
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 20);
	struct egress_verdict v;
	struct json_writer *w;
	struct policy p;

	must_load(&layers, &p);
	egress_decide(&p.egress, &t, &v);
	assert_int_equal(v.reason, EGRESS_DENIED);
	assert_string_equal(p.egress.rules[v.rule].why, "It tracks.");
	assert_string_equal(p.denied_domains.items[0].why, "It tracks.");
	assert_null(p.denied_domains.items[1].why);
	assert_null(p.egress.rules[2].why);
	w = json_write_new(&text);
	policy_write_values(&p, w, false);
	assert_int_equal(json_write_finish(w), 0);
	assert_int_equal(buffer_append_u8(&text, 0), 0);
	assert_non_null(strstr(text.data, written));
	policy_done(&p);
}

#define PIDS(n) "{\"limits\":{\"pids\":" #n "}}"

static void smallest_limit(void **state)
{
	static const struct {
		struct layers layers;
		uint64_t value;
		enum policy_layer_kind from;
	} cases[] = {
		{ { { NULL, PIDS(10000), NULL, NULL } }, 10000, POLICY_USER },
		{ { { PIDS(100), PIDS(10000), NULL, NULL } }, 100, POLICY_ADMINISTRATOR },
		{ { { PIDS(10000), PIDS(100), NULL, NULL } }, 100, POLICY_USER },
		{ { { PIDS(10000), PIDS(100), PIDS(50), PIDS(200) } }, 50, POLICY_FILE },
		{ { { NULL, NULL, NULL, PIDS(20) } }, 20, POLICY_COMMAND_LINE },
		{ { { PIDS(20), NULL, NULL, PIDS(20) } }, 20, POLICY_ADMINISTRATOR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy p;

		must_load(&cases[i].layers, &p);
		assert_int_equal(p.pids.value, cases[i].value);
		assert_int_equal(p.pids.origin.layer, cases[i].from);
		policy_done(&p);
	}
}

#define NESTING(x) "{\"process\":{\"nesting\":" #x "}}"

static void nesting(void **state)
{
	static const struct {
		struct layers layers;
		bool value;
		enum policy_layer_kind from;
	} cases[] = {
		{ { { NULL, NESTING(true), NULL, NULL } }, true, POLICY_USER },
		{ { { NESTING(true), NULL, NULL, NULL } }, true, POLICY_ADMINISTRATOR },
		{ { { NESTING(true), NESTING(false), NULL, NULL } }, false, POLICY_USER },
		{ { { NESTING(false), NESTING(true), NULL, NESTING(true) } }, false, POLICY_ADMINISTRATOR },
		{ { { NULL, NESTING(false), NESTING(true), NULL } }, true, POLICY_FILE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy p;

		must_load(&cases[i].layers, &p);
		assert_int_equal(p.nesting, cases[i].value);
		assert_int_equal(p.nesting_origin.layer, cases[i].from);
		policy_done(&p);
	}
}

#define FILES(x) "{\"sandbox\":{\"filesystem\":{" x "}}}"
#define DOTENV(x) FILES("\"protect\":{\"dotenv\":" #x "}")
#define WORKFLOWS(x) FILES("\"protect\":{\"workflows\":" #x "}")
#define CACHES(x) FILES("\"caches\":" #x)
#define OVERLAY(x) FILES("\"overlayProject\":" #x)
#define LATE(x) FILES("\"lateFiles\":\"" #x "\"")
#define PLANTS(x) FILES("\"latePlants\":\"" #x "\"")

#define SWITCH(member) offsetof(struct policy, member)

static void switches(void **state)
{
	static const struct {
		struct layers layers;
		size_t offset;
		bool on;
		enum policy_layer_kind from;
	} cases[] = {
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(protect[PROTECT_DOTENV]), true, POLICY_BUILT_IN },
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(protect[PROTECT_WORKFLOWS]), false, POLICY_BUILT_IN },
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(toolchains), true, POLICY_BUILT_IN },
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(late_required), false, POLICY_BUILT_IN },
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(degraded), false, POLICY_BUILT_IN },
		/* the last layer that says something */
		{ { { NULL, DOTENV(false), NULL, NULL } }, SWITCH(protect[PROTECT_DOTENV]), false, POLICY_USER },
		{ { { NULL, DOTENV(false), DOTENV(true), NULL } }, SWITCH(protect[PROTECT_DOTENV]), true, POLICY_FILE },
		{ { { NULL, DOTENV(false), WORKFLOWS(true), NULL } },
		  SWITCH(protect[PROTECT_DOTENV]),
		  false,
		  POLICY_USER },
		{ { { DOTENV(false), NULL, NULL, NULL } },
		  SWITCH(protect[PROTECT_DOTENV]),
		  false,
		  POLICY_ADMINISTRATOR },
		{ { { DOTENV(false), DOTENV(true), NULL, NULL } }, SWITCH(protect[PROTECT_DOTENV]), true, POLICY_USER },
		{ { { NULL, NULL, CACHES(false), CACHES(true) } }, SWITCH(caches), true, POLICY_COMMAND_LINE },
		{ { { OVERLAY(false), NULL, NULL, OVERLAY(true) } },
		  SWITCH(overlay_project),
		  true,
		  POLICY_COMMAND_LINE },
		/* what the administrator has made stricter stays */
		{ { { DOTENV(true), DOTENV(false), NULL, DOTENV(false) } },
		  SWITCH(protect[PROTECT_DOTENV]),
		  true,
		  POLICY_ADMINISTRATOR },
		{ { { WORKFLOWS(true), NULL, WORKFLOWS(false), NULL } },
		  SWITCH(protect[PROTECT_WORKFLOWS]),
		  true,
		  POLICY_ADMINISTRATOR },
		{ { { CACHES(false), CACHES(true), NULL, NULL } }, SWITCH(caches), false, POLICY_ADMINISTRATOR },
		{ { { OVERLAY(true), OVERLAY(false), NULL, NULL } },
		  SWITCH(overlay_project),
		  true,
		  POLICY_ADMINISTRATOR },
		/* any layer may require */
		{ { { LATE(report), LATE(require), LATE(report), NULL } }, SWITCH(late_required), true, POLICY_USER },
		{ { { LATE(require), LATE(report), NULL, NULL } }, SWITCH(late_required), true, POLICY_ADMINISTRATOR },
		{ { { NULL, LATE(report), NULL, NULL } }, SWITCH(late_required), false, POLICY_USER },
		{ { { NULL, NULL, NULL, NULL } }, SWITCH(plants_required), false, POLICY_BUILT_IN },
		{ { { PLANTS(require), PLANTS(report), LATE(report), NULL } },
		  SWITCH(plants_required),
		  true,
		  POLICY_ADMINISTRATOR },
		{ { { "{\"degraded\":\"allow\"}", NULL, NULL, NULL } }, SWITCH(degraded), true, POLICY_ADMINISTRATOR },
		{ { { "{\"degraded\":\"refuse\"}", NULL, NULL, NULL } },
		  SWITCH(degraded),
		  false,
		  POLICY_ADMINISTRATOR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct policy_switch *s;
		struct policy p;

		must_load(&cases[i].layers, &p);
		s = (const struct policy_switch *)((const char *)&p + cases[i].offset);
		if (s->on != cases[i].on || s->origin.layer != cases[i].from)
			fail_msg("case %zu: %d from %s", i, s->on, policy_layer_name(s->origin.layer));
		policy_done(&p);
	}
}

static void only_the_administrator_degrades(void **state)
{
	static const char text[] = "{\"degraded\":\"refuse\"}";
	const struct layers layers[] = { { { NULL, text, NULL, NULL } },
					 { { NULL, NULL, text, NULL } },
					 { { "{\"degraded\":\"allow\"}", NULL, NULL, text } } };

	for (size_t i = 0; i < ARRAY_SIZE(layers); i++) {
		struct error e;
		struct policy p;

		assert_int_equal(load(&layers[i], &p, &e), -EINVAL);
		assert_non_null(strstr(e.step, "degraded"));
		assert_non_null(strstr(e.message, "Only the administrator's"));
		assert_non_null(strstr(e.remedy, "/etc/isod/policy.json"));
		policy_done(&p);
	}
}

static void path_lists_append(void **state)
{
	const struct layers layers = { { FILES("\"denyRead\":[\"**/a\"],\"devices\":[\"/dev/nvidia*\"]"),
					 FILES("\"denyRead\":[\"~/b\"],\"denyWrite\":[\"./c\"]"),
					 FILES("\"overlay\":[\"~/d\"]"),
					 FILES("\"devices\":[\"/dev/dri\",\"/dev/dri/card0\"]") } };
	struct policy p;

	must_load(&layers, &p);
	assert_int_equal(p.deny_read.count, 2);
	assert_string_equal(p.deny_read.items[0].text, "**/a");
	assert_int_equal(p.deny_read.items[0].origin.layer, POLICY_ADMINISTRATOR);
	assert_string_equal(p.deny_read.items[1].text, "~/b");
	assert_string_equal(p.deny_write.items[0].text, "./c");
	assert_string_equal(p.overlay.items[0].text, "~/d");
	assert_int_equal(p.devices.count, 3);
	assert_string_equal(p.devices.items[2].text, "/dev/dri/card0");
	policy_done(&p);
}

static void variables(void **state)
{
	const struct layers layers = { { "{\"environment\":{\"set\":{\"A\":\"1\",\"B\":\"2\"},\"pass\":[\"X\"]}}",
					 "{\"environment\":{\"set\":{\"B\":\"3\"},\"pass\":[\"Y\",\"LD_PRELOAD\"]}}",
					 NULL, "{\"environment\":{\"set\":{\"C\":\"\"}}}" } };
	struct policy p;

	must_load(&layers, &p);
	assert_int_equal(p.n_environment_set, 3);
	assert_string_equal(p.environment_set[1].name, "B");
	assert_string_equal(p.environment_set[1].value, "3");
	assert_int_equal(p.environment_set[1].origin.layer, POLICY_USER);
	assert_string_equal(p.environment_set[2].value, "");
	assert_int_equal(p.environment_pass.count, 3);
	policy_done(&p);
}

/* The first wrong layer is reported, under its own name. */
static void wrong_layer(void **state)
{
	const struct layers layers = { { "{}", "{}", PIDS(0), "{" } };
	struct error e;
	struct policy p;

	assert_int_equal(load(&layers, &p, &e), -EINVAL);
	assert_string_equal(e.step, "f.json:1: limits.pids");
	policy_done(&p);
}

static void order_of_layers(void **state)
{
	const struct policy_input wrong[] = { { POLICY_USER, "u", "{}", 2 }, { POLICY_ADMINISTRATOR, "a", "{}", 2 } };
	const struct policy_input twice[] = { { POLICY_FILE, "f", "{}", 2 }, { POLICY_FILE, "g", "{}", 2 } };
	const struct policy_input none[] = { { POLICY_LAYER_COUNT, "u", "{}", 2 } };
	struct error e = ERROR_INIT;
	struct policy p;

	assert_int_equal(policy_load(wrong, 2, &p, &e), -EINVAL);
	assert_int_equal(e.code, ERROR_INTERNAL);
	policy_done(&p);
	assert_int_equal(policy_load(none, 1, &p, NULL), -EINVAL);
	policy_done(&p);
	assert_int_equal(policy_load(twice, 2, &p, NULL), 0);
	policy_done(&p);
}

static void digest_of(const struct layers *layers, char ret[65])
{
	struct policy p;

	must_load(layers, &p);
	assert_int_equal(policy_digest(&p, ret), 0);
	policy_done(&p);
}

static void digest(void **state)
{
	const struct layers one = { { PIDS(7), NULL, NULL, NULL } },
			    other_file = { { NULL, NULL, "\n" PIDS(7), NULL } },
			    other_value = { { PIDS(8), NULL, NULL, NULL } }, built_in_only = { { NULL } };
	char a[65], b[65], c[65], d[65];

	digest_of(&one, a);
	digest_of(&other_file, b);
	digest_of(&other_value, c);
	digest_of(&built_in_only, d);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
	assert_string_not_equal(a, d);
	assert_int_equal(strspn(a, "0123456789abcdef"), 64);
	assert_int_equal(strlen(a), 64);
}

static const struct json_value *member(const struct json_value *v, const char *path)
{
	char name[32];

	while (*path) {
		size_t n = strcspn(path, ".");

		assert_true(n < sizeof(name));
		memcpy(name, path, n);
		name[n] = '\0';
		v = json_get(v, name);
		assert_non_null(v);
		path += n + (path[n] == '.');
	}
	return v;
}

static void check_text(const struct json_value *v, const char *value, const char *from)
{
	assert_string_equal(json_get(v, "value")->string.data, value);
	assert_string_equal(json_get(v, "from")->string.data, from);
}

static void written(void **state)
{
	const struct layers layers = {
		{ "{\"hosts\":{\"ok.example\":[\"127.0.0.2\",\"::1\"],\n\"z.example\":[\"127.0.0.3\"]}}",
		  "\n{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"~/"
		  "x\"]}},\"limits\":{\"cpus\":1.5,\"memory\":\"1G\"}}",
		  FILES("\"denyRead\":[\"**/"
			"k\"],\"protect\":{\"workflows\":true},\"lateFiles\":\"require\",\"latePlants\":\"require\""),
		  DOMAINS("\"ok.example\"", "") }
	};
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1 << 20);
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct json_writer *w = json_write_new(&b);
	const struct json_value *list;
	struct policy p;

	must_load(&layers, &p);
	policy_write(&p, w);
	assert_int_equal(json_write_finish(w), 0);
	policy_done(&p);
	assert_int_equal(json_read(b.data, b.len, 0, &d, NULL), 0);
	list = member(d.root, "sandbox.filesystem.allowRead");
	assert_int_equal(list->array.count, 1);
	check_text(&list->array.items[0], "~/x", "user /home/u/.config/isod/policy.json:2");
	list = member(d.root, "sandbox.network.allowedDomains");
	check_text(&list->array.items[0], "ok.example", "command-line");
	assert_int_equal(member(d.root, "sandbox.network.deniedDomains")->array.count, 0);
	list = json_get(member(d.root, "hosts"), "ok.example");
	assert_int_equal(list->array.count, 2);
	check_text(&list->array.items[1], "::1", "administrator /etc/isod/policy.json:1");
	list = json_get(member(d.root, "hosts"), "z.example");
	check_text(&list->array.items[0], "127.0.0.3", "administrator /etc/isod/policy.json:2");
	assert_int_equal(member(d.root, "limits.memory.value")->integer, 1 << 30);
	assert_string_equal(member(d.root, "limits.cpus.value")->string.data, "150%");
	assert_int_equal(member(d.root, "limits.pids.value")->integer, 4096);
	assert_string_equal(member(d.root, "limits.pids.from")->string.data, "built-in");
	assert_int_equal(member(d.root, "limits.wall.value")->type, JSON_NULL);
	assert_false(member(d.root, "process.nesting.value")->boolean);
	assert_int_equal(member(d.root, "environment.set")->object.count, 0);
	list = member(d.root, "sandbox.filesystem.denyRead");
	check_text(&list->array.items[0], "**/k", "file f.json:1");
	assert_int_equal(member(d.root, "sandbox.filesystem.protect")->object.count, PROTECT_GROUP_COUNT - 1);
	assert_true(member(d.root, "sandbox.filesystem.protect.workflows.value")->boolean);
	assert_string_equal(member(d.root, "sandbox.filesystem.protect.workflows.from")->string.data, "file f.json:1");
	assert_true(member(d.root, "sandbox.filesystem.protect.dotenv.value")->boolean);
	assert_string_equal(member(d.root, "sandbox.filesystem.protect.dotenv.from")->string.data, "built-in");
	check_text(member(d.root, "sandbox.filesystem.lateFiles"), "require", "file f.json:1");
	check_text(member(d.root, "sandbox.filesystem.latePlants"), "require", "file f.json:1");
	check_text(member(d.root, "degraded"), "refuse", "built-in");
	assert_false(member(d.root, "sandbox.filesystem.overlayProject.value")->boolean);
	assert_true(member(d.root, "sandbox.filesystem.toolchains.value")->boolean);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denials_say_why),
		cmocka_unit_test(built_in),
		cmocka_unit_test(lists_append_and_deny_wins),
		cmocka_unit_test(smallest_limit),
		cmocka_unit_test(nesting),
		cmocka_unit_test(variables),
		cmocka_unit_test(wrong_layer),
		cmocka_unit_test(order_of_layers),
		cmocka_unit_test(digest),
		cmocka_unit_test(written),
		cmocka_unit_test(switches),
		cmocka_unit_test(path_lists_append),
		cmocka_unit_test(only_the_administrator_degrades),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
