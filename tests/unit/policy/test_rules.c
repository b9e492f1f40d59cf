/* policy_rules_build: which rules a policy gives, what they mean where, and where each comes from. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/policy_rules.h"
#include "view/toolchain.h"

static void load(const char *text, struct policy *ret)
{
	const struct policy_input input = { .layer = POLICY_USER, .path = "u.json", .text = text, .len = strlen(text) };
	struct error e = ERROR_INIT;

	if (policy_load(&input, 1, ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

static void build(const char *text, const char *home, const char *project, struct policy *p, struct policy_rules *ret)
{
	struct error e = ERROR_INIT;

	load(text, p);
	if (policy_rules_build(p, home, project, ret, &e) < 0)
		fail_msg("%s", e.message);
}

/* The index of the rule of this kind and pattern; fails where there is none. */
static size_t find(const struct policy_rules *r, enum policy_rule_kind kind, const char *pattern)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->sources[i].kind == kind && strcmp(r->rules[i].pattern, pattern) == 0)
			return i;
	fail_msg("no rule %s", pattern);
	return 0;
}

static size_t count(const struct policy_rules *r, enum policy_rule_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->sources[i].kind == kind;
	return n;
}

#define FILES(x) "{\"sandbox\":{\"filesystem\":{" x "}}}"

static void lists(void **state)
{
	static const struct {
		enum policy_rule_kind kind;
		const char *pattern;
		const char *text;
		uint32_t effect;
	} cases[] = {
		{ POLICY_RULE_PROJECT, "/src/p", "", PATH_ALLOW_WRITE },
		{ POLICY_RULE_ALLOW_READ, "/h/r", "~/r", PATH_ALLOW_READ },
		{ POLICY_RULE_ALLOW_WRITE, "/w/*/x", "/w/*/x", PATH_ALLOW_WRITE },
		{ POLICY_RULE_DENY_READ, "/src/p/**/k", "**/k", PATH_DENY_READ },
		{ POLICY_RULE_DENY_WRITE, "/src/p/d", "./d/**", PATH_DENY_WRITE },
		{ POLICY_RULE_OVERLAY, "/h/o", "~/o", PATH_OVERLAY },
		{ POLICY_RULE_DEVICE, "/dev/nvidia*", "/dev/nvidia*", PATH_ALLOW_WRITE },
	};
	_cleanup_policy_rules_ struct policy_rules r = POLICY_RULES_INIT;
	struct policy p;

	build(FILES("\"allowRead\":[\"~/r\"],\"allowWrite\":[\"/w/*/x\"],\"denyRead\":[\"**/k\"],\n\"denyWrite\":[\"./"
		    "d/"
		    "**\"],\"overlay\":[\"~/o\"],\"devices\":[\"/dev/nvidia*\"]"),
	      "/h", "/src/p", &p, &r);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t k = find(&r, cases[i].kind, cases[i].pattern);

		assert_int_equal(r.rules[k].effect, cases[i].effect);
		assert_int_equal(r.rules[k].flags, 0);
		assert_string_equal(r.sources[k].text, cases[i].text);
	}
	assert_int_equal(r.sources[find(&r, POLICY_RULE_DENY_WRITE, "/src/p/d")].origin.line, 2);
	assert_int_equal(r.sources[find(&r, POLICY_RULE_DENY_WRITE, "/src/p/d")].origin.layer, POLICY_USER);
	assert_string_equal(policy_rule_key(POLICY_RULE_DENY_WRITE), "sandbox.filesystem.denyWrite");
	assert_string_equal(policy_rule_key(POLICY_RULE_KIND_COUNT), "");
	assert_string_equal(policy_rule_effect(PATH_DENY_WRITE), "deny-write");
	assert_string_equal(policy_rule_effect(0), "");
	assert_string_equal(policy_rule_effect(PATH_EFFECT_END), "");
	policy_done(&p);
}

static void switches(void **state)
{
	_cleanup_policy_rules_ struct policy_rules on = POLICY_RULES_INIT, off = POLICY_RULES_INIT;
	struct policy p, q;
	size_t k, dotenv = 0;

	build("{}", "/h", "/p", &p, &on);
	build(FILES("\"protect\":{\"dotenv\":false,\"workflows\":true},\"toolchains\":false,\"caches\":false,"
		    "\"overlayProject\":true"),
	      "/h", "/p", &q, &off);
	assert_int_equal(count(&on, POLICY_RULE_TOOLCHAIN), n_toolchain_rules);
	assert_int_equal(count(&on, POLICY_RULE_CACHE), n_cache_rules);
	k = find(&on, POLICY_RULE_PROTECT, "/**/.env");
	assert_int_equal(on.rules[k].group, PROTECT_DOTENV);
	assert_int_equal(on.sources[k].origin.layer, POLICY_BUILT_IN);
	assert_int_equal(on.rules[find(&on, POLICY_RULE_TOOLCHAIN, "/h/.nvm")].effect, PATH_ALLOW_READ);
	assert_int_equal(on.rules[find(&on, POLICY_RULE_CACHE, "/h/.npm")].effect, PATH_OVERLAY);
	assert_int_equal(count(&off, POLICY_RULE_TOOLCHAIN) + count(&off, POLICY_RULE_CACHE), 0);
	assert_int_equal(off.rules[find(&off, POLICY_RULE_PROJECT, "/p")].effect, PATH_OVERLAY);
	assert_int_equal(off.sources[find(&off, POLICY_RULE_PROTECT, "/**/.github/workflows")].origin.layer,
			 POLICY_USER);
	for (size_t i = 0; i < off.n; i++)
		dotenv += off.sources[i].kind == POLICY_RULE_PROTECT && off.rules[i].group == PROTECT_DOTENV;
	assert_int_equal(dotenv, 0);
	policy_done(&p);
	policy_done(&q);
}

/* The project's bytes stand for themselves; a HOME that is none gives no rules about it. */
static void odd_places(void **state)
{
	static const char *const homes[] = { "/", "", "h" };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		_cleanup_policy_rules_ struct policy_rules r = POLICY_RULES_INIT;
		struct policy p;

		build("{}", homes[i], "/a[b]*\\", &p, &r);
		find(&r, POLICY_RULE_PROJECT, "/a\\[b]\\*\\\\");
		for (size_t k = 0; k < r.n; k++)
			assert_true(r.sources[k].text[0] != '~');
		find(&r, POLICY_RULE_TOOLCHAIN, "/home/linuxbrew/.linuxbrew");
		policy_done(&p);
	}
}

static void refused(void **state)
{
	_cleanup_policy_rules_ struct policy_rules r = POLICY_RULES_INIT;
	struct error e = ERROR_INIT;
	struct policy p;

	load(FILES("\"allowRead\":[\"~/x\"]"), &p);
	assert_int_equal(policy_rules_build(&p, "", "/p", &r, &e), -EINVAL);
	assert_int_equal(e.code, ERROR_POLICY);
	policy_done(&p);
}

/* No plan could hold them: refused before there are hundreds of megabytes of them. */
static void bounded(void **state)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 20);
	char home[LIMIT_PATH - 100];
	struct error e = ERROR_INIT;
	struct policy p;

	for (size_t i = 0; i < sizeof(home); i++)
		home[i] = i % 100 == 0 ? '/' : 'h';
	home[sizeof(home) - 1] = '\0';
	assert_int_equal(buffer_append_string(&text, "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"/x\""), 0);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(buffer_printf(&text, ",\"~/%d\"", i), 0);
	assert_int_equal(buffer_append(&text, "]}}}", 5), 0);
	load(text.data, &p);
	for (int i = 0; i < 2; i++) {
		_cleanup_policy_rules_ struct policy_rules r = POLICY_RULES_INIT;

		assert_int_equal(policy_rules_build(&p, i ? home : "/home/u", "/p", &r, &e), i ? -E2BIG : 0);
		assert_int_equal(e.code, i ? ERROR_LIMIT : ERROR_NONE);
		assert_true(r.bytes <= LIMIT_PLAN + LIMIT_PATH);
	}
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),   cmocka_unit_test(switches), cmocka_unit_test(odd_places),
		cmocka_unit_test(refused), cmocka_unit_test(bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
