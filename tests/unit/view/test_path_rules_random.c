/* The evaluator against the slow one: random rules and paths of few names, so that they meet. A failure names its seed;
 * with ISOD_TEST_SEED it is run again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/view/slow_rules.h"
#include "view/path_pattern.h"

#define ROUNDS 3000
#define RULES_MAX 24
#define PATHS 40

static uint64_t state;

/* splitmix64 */
static unsigned below(unsigned n)
{
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return (unsigned)((z ^ (z >> 31)) % n);
}

static const char *const names[] = { "a", "b", "ab", "aab", ".git", ".env", "*", "[", "\\", "x.pem", "ba]", "-" };
static const char *const parts[] = {
	"a",   "b",    "ab",    "aab", ".git", ".env",  "\\*",    "\\[",   "\\\\", "**",
	"**",  "*",    "a*",    "*b",  "a*b",  "?",     "?b",     "[ab]",  "[!a]", "*.pem",
	".e*", "[a-b", "[]a]*", "***", "**b",  "[!]b]", "a**a*b", "[+--]", "\\a",  "*\\]"
};

static void random_text(char *ret, size_t size, const char *const *from, size_t n, unsigned max_parts)
{
	unsigned count = 1 + below(max_parts);
	size_t len = 0;

	for (unsigned i = 0; i < count; i++)
		len += (size_t)snprintf(ret + len, size - len, "/%s", from[below((unsigned)n)]);
}

static void random_case(char *text)
{
	for (; *text; text++)
		if (*text >= 'a' && *text <= 'z' && below(2))
			*text = (char)(*text - 'a' + 'A');
}

struct round {
	char patterns[RULES_MAX][128];
	struct path_rule rules[RULES_MAX];
	size_t n;
};

static void random_rules(struct round *r)
{
	r->n = below(RULES_MAX + 1);
	for (size_t i = 0; i < r->n; i++) {
		bool plain = below(2);

		if (i > 0 && below(8) == 0)
			strcpy(r->patterns[i], r->patterns[below((unsigned)i)]);
		else if (plain)
			random_text(r->patterns[i], sizeof(r->patterns[i]), parts, 9, 4);
		else
			random_text(r->patterns[i], sizeof(r->patterns[i]), parts, ARRAY_SIZE(parts), 5);
		r->rules[i] = (struct path_rule){ .effect = 1 + below(PATH_EFFECT_END - 1),
						  .flags = below(2) ? below(PATH_RULE_FLAGS_ALL + 1) : 0,
						  .pattern = r->patterns[i] };
	}
}

static void explain(const struct round *r, uint64_t seed, const char *path, enum path_kind kind,
		    const struct path_verdict *is, const struct path_verdict *ought)
{
	for (size_t i = 0; i < r->n; i++)
		fprintf(stderr, "rule %zu: effect %u flags %u %s\n", i, r->rules[i].effect, r->rules[i].flags,
			r->rules[i].pattern);
	fprintf(stderr, "path %s kind %d\n", path, kind);
	fail_msg("seed %llu: access %d read %u write %u keep %d, ought to be %d %u %u %d", (unsigned long long)seed,
		 is->access, is->read_rule, is->write_rule, is->keep, ought->access, ought->read_rule,
		 ought->write_rule, ought->keep);
}

static void decide_in_folder(const struct path_rules *fast, const char *path, enum path_kind kind,
			     struct path_verdict *ret)
{
	const char *slash = strrchr(path, '/');
	struct path_folder folder;
	char above[128];

	snprintf(above, sizeof(above), "%.*s", slash == path ? 1 : (int)(slash - path), path);
	path_rules_enter(fast, above, &folder);
	path_rules_decide_in(fast, &folder, path, kind, ret);
}

/* Without case the verdict about a path is that of the slow one about both, in small letters: which of them are capital
 * ones does not matter. */
static void one_round_without_case(uint64_t seed)
{
	_cleanup_path_rules_ struct path_rules *fast = NULL;
	struct round r, small;

	state = seed;
	random_rules(&r);
	small = r;
	for (size_t i = 0; i < r.n; i++) {
		small.rules[i].pattern = small.patterns[i];
		random_case(r.patterns[i]);
	}
	assert_int_equal(path_rules_new_folding(r.rules, r.n, &fast), 0);
	for (unsigned i = 0; i < PATHS; i++) {
		enum path_kind kind = below(PATH_FILE_WITHOUT_TOKEN + 1);
		struct path_verdict is, ought;
		char path[128];

		random_text(path, sizeof(path), names, ARRAY_SIZE(names), 6);
		slow_decide(small.rules, small.n, path, kind, &ought);
		random_case(path);
		path_rules_decide(fast, path, kind, &is);
		if (memcmp(&is, &ought, sizeof(is)) != 0)
			explain(&r, seed, path, kind, &is, &ought);
		decide_in_folder(fast, path, kind, &is);
		if (memcmp(&is, &ought, sizeof(is)) != 0)
			explain(&r, seed, path, kind, &is, &ought);
	}
}

static void one_round(uint64_t seed)
{
	_cleanup_path_rules_ struct path_rules *fast = NULL;
	struct round r;

	state = seed;
	random_rules(&r);
	assert_int_equal(path_rules_new(r.rules, r.n, &fast), 0);
	assert_int_equal(path_rules_count(fast), r.n);
	for (unsigned i = 0; i < PATHS; i++) {
		enum path_kind kind = below(PATH_FILE_WITHOUT_TOKEN + 1);
		struct path_verdict is, ought;
		char path[128];

		random_text(path, sizeof(path), names, ARRAY_SIZE(names), 6);
		path_rules_decide(fast, path, kind, &is);
		slow_decide(r.rules, r.n, path, kind, &ought);
		if (is.access != ought.access || is.read_rule != ought.read_rule || is.write_rule != ought.write_rule ||
		    is.keep != ought.keep)
			explain(&r, seed, path, kind, &is, &ought);
		decide_in_folder(fast, path, kind, &is);
		if (is.access != ought.access || is.read_rule != ought.read_rule || is.write_rule != ought.write_rule ||
		    is.keep != ought.keep)
			explain(&r, seed, path, kind, &is, &ought);
	}
}

static uint64_t first_seed(void)
{
	const char *text = getenv("ISOD_TEST_SEED");

	return text ? strtoull(text, NULL, 10) : 1;
}

static void decides_as_the_slow_one(void **unused)
{
	for (uint64_t i = 0; i < ROUNDS; i++)
		one_round(first_seed() + i);
}

static void decides_without_case_as_the_slow_one(void **unused)
{
	for (uint64_t i = 0; i < ROUNDS; i++)
		one_round_without_case(first_seed() + i);
}

static void matches_as_the_slow_one(void **unused)
{
	state = first_seed();
	for (unsigned i = 0; i < 200000; i++) {
		char pattern[128], path[128];

		random_text(pattern, sizeof(pattern), parts, ARRAY_SIZE(parts), 5);
		random_text(path, sizeof(path), names, ARRAY_SIZE(names), 6);
		if (path_pattern_match(pattern, path) != slow_match(pattern, path))
			fail_msg("%s %s: %d", pattern, path, path_pattern_match(pattern, path));
	}
}

/* Where something matches below, the walk does not stop: the other way round it may be too careful. */
static void never_stops_too_early(void **unused)
{
	unsigned stops = 0;

	state = first_seed();
	for (unsigned i = 0; i < 3000; i++) {
		char pattern[128], folder[128];
		bool concerns;

		random_text(pattern, sizeof(pattern), parts, ARRAY_SIZE(parts), 4);
		random_text(folder, sizeof(folder), names, ARRAY_SIZE(names), 3);
		concerns = path_pattern_concerns_below(pattern, folder);
		if (!concerns && slow_matches_below(pattern, folder, names, ARRAY_SIZE(names)))
			fail_msg("%s below %s", pattern, folder);
		stops += !concerns;
	}
	assert_true(stops > 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_as_the_slow_one),
		cmocka_unit_test(decides_as_the_slow_one),
		cmocka_unit_test(decides_without_case_as_the_slow_one),
		cmocka_unit_test(never_stops_too_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
