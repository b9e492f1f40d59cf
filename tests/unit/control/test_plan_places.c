/*
 * The mounts of a plan show what the rules say: random rules, and the mounts carried out on paper, held against the
 * evaluator at every path of a small tree. What the search of isod-launch adds (denials with wildcards) is left out.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "plan_case.h"
#include "view/path_pattern.h"
#include "view/toolchain.h"

#define ROUNDS 3000
#define DEPTH 5 /* of the paths that are looked at */

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

/* "/p" and up to three parts of "a", "b"; wildcards where they may be. */
static void random_pattern(char *ret, size_t size, bool wild)
{
	static const char *const parts[] = { "a", "b", "a", "b", "*", "?", "**" };
	size_t n = (size_t)snprintf(ret, size, "/p");

	for (uint32_t depth = 1 + random_below(3); depth > 0; depth--)
		n += (size_t)snprintf(ret + n, size - n, "/%s", parts[random_below(wild ? 7 : 4)]);
	/* "**" at the end is none. */
	if (strcmp(ret + n - 2, "**") == 0)
		snprintf(ret + n - 2, size - n + 2, "a");
}

static const char *const lists[] = { "allowRead", "allowWrite", "overlay", "denyRead", "denyWrite" };

static void random_policy(char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "{\"sandbox\":{\"filesystem\":{\"overlayProject\":%s",
				    random_below(4) ? "false" : "true");

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		n += (size_t)snprintf(ret + n, size - n, ",\"%s\":[", lists[i]);
		for (uint32_t k = 0, count = random_below(4); k < count; k++) {
			char pattern[64];

			random_pattern(pattern, sizeof(pattern), i < 2);
			n += (size_t)snprintf(ret + n, size - n, "%s\"%s\"", k ? "," : "", pattern);
		}
		n += (size_t)snprintf(ret + n, size - n, "]");
	}
	snprintf(ret + n, size - n, "}}}");
}

static bool is_within(const char *path, const char *parent)
{
	size_t n = strlen(parent);

	return strncmp(path, parent, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static enum path_access decide(const struct path_rules *rules, const char *path)
{
	struct path_verdict v;

	path_rules_decide(rules, path, PATH_FOLDER, &v);
	return v.access;
}

struct seen {
	enum path_access access;
	size_t depth; /* of the mount that shows it, as the length of its path */
};

/* What lies below a match stays on top of it, and so do deeper matches. */
static void match(const struct path_rules *rules, const struct plan_mount *m, const char *path, struct seen *seen)
{
	char part[64];

	for (size_t n = strlen(path); n > 0; n--) {
		memcpy(part, path, n);
		part[n] = '\0';
		if ((path[n] != '/' && path[n] != '\0') || !path_pattern_match(m->source, part))
			continue;
		assert_true(n > strlen(m->target) && is_within(part, m->target));
		if (n <= seen->depth || decide(rules, part) == PATH_DENIED)
			continue;
		*seen = (struct seen){ decide(rules, part), n };
	}
}

static void apply(const struct path_rules *rules, const struct plan_mount *m, const char *path, struct seen *seen)
{
	size_t n = strlen(m->target);

	switch (m->type) {
	case PLAN_MOUNT_BIND:
		*seen = (struct seen){ m->flags & PLAN_READ_ONLY ? PATH_READABLE : PATH_WRITABLE, n };
		break;
	case PLAN_MOUNT_OVERLAY:
		*seen = (struct seen){ PATH_OVERLAID, n };
		break;
	case PLAN_MOUNT_MATCHES:
		match(rules, m, path, seen);
		break;
	case PLAN_COVER:
		if (n >= seen->depth && seen->access != PATH_ABSENT)
			*seen = (struct seen){ PATH_DENIED, n };
		break;
	case PLAN_LOCK:
		if (n >= seen->depth && m->flags & PLAN_READ_ONLY && seen->access != PATH_ABSENT)
			*seen = (struct seen){ seen->access == PATH_DENIED ? PATH_DENIED : PATH_READABLE, n };
		break;
	default:
		break;
	}
}

static enum path_access see(const struct plan_built *b, const struct path_rules *rules, const char *path)
{
	struct seen seen = { PATH_ABSENT, 0 };

	for (uint32_t i = 0; i < b->plan.n_mounts; i++)
		if (is_within(path, b->mounts[i].target))
			apply(rules, &b->mounts[i], path, &seen);
	return seen.access;
}

static void check_path(const struct plan_built *b, const struct path_rules *rules, const char *path, const char *policy)
{
	enum path_access wanted = decide(rules, path), seen = see(b, rules, path);

	/* Where nothing is, there is nothing to deny. */
	if (wanted != seen && !(wanted == PATH_DENIED && seen == PATH_ABSENT))
		fail_msg("%s: the rules say %d, the mounts %d\n%s", path, wanted, seen, policy);
}

static void check_tree(const struct plan_built *b, const struct path_rules *rules, const char *path, unsigned depth,
		       const char *policy)
{
	check_path(b, rules, path, policy);
	for (char name = 'a'; depth > 0 && name <= 'b'; name++) {
		char child[64];

		snprintf(child, sizeof(child), "%s/%c", path, name);
		check_tree(b, rules, child, depth - 1, policy);
	}
}

static void the_mounts_show_what_the_rules_say(void **state)
{
	unsigned mounts = 0, built_plans = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		_cleanup_path_rules_ struct path_rules *rules = NULL;
		struct error e = ERROR_INIT;
		char policy[2048];
		struct plan_case t = {
			.uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/p/a/b", .policy = policy
		};

		random_policy(policy, sizeof(policy));
		if (plan_case_build(&t, &built, &e) < 0) {
			if (!strstr(e.message, "denies reading the project"))
				fail_msg("%s: %s\n%s", e.step, e.message, policy);
			continue;
		}
		assert_int_equal(path_rules_new(built.plan.rules, built.plan.n_rules, &rules), 0);
		check_tree(&built, rules, "/p", DEPTH, policy);
		mounts += built.plan.n_mounts;
		built_plans++;
	}
	assert_true(built_plans > ROUNDS / 2 && mounts > built_plans * 20);
}

/* 10,000 rules that say what the folder around them says are no mounts. */
static void rules_that_change_nothing_are_no_mounts(void **state)
{
	enum { N = 10000 };
	_cleanup_free_ char *policy = malloc(N * 40 + 200);
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT, plain = PLAN_BUILT_INIT;
	struct error e = ERROR_INIT;
	struct plan_case t = { .uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/srv/p" };
	size_t n;

	assert_non_null(policy);
	assert_int_equal(plan_case_build(&t, &plain, &e), 0);
	n = (size_t)sprintf(policy, "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/data\"");
	for (int i = 0; i < N; i++)
		n += (size_t)sprintf(policy + n, ",\"/data/d%d/x%d\"", i % 100, i);
	n += (size_t)sprintf(policy + n, "],\"denyRead\":[");
	for (int i = 0; i < N; i++)
		n += (size_t)sprintf(policy + n, "%s\"/none/d%d\"", i ? "," : "", i);
	sprintf(policy + n, "]}}}");
	t.policy = policy;
	assert_int_equal(plan_case_build(&t, &built, &e), 0);
	assert_int_equal(built.plan.n_mounts, plain.plan.n_mounts + 1);
}

static const struct plan_mount *find(const struct plan_built *b, const char *target, uint32_t type)
{
	for (uint32_t i = 0; i < b->plan.n_mounts; i++)
		if (b->mounts[i].type == type && strcmp(b->mounts[i].target, target) == 0)
			return &b->mounts[i];
	return NULL;
}

static void tool_chains_and_caches_are_granted(void **state)
{
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct error e = ERROR_INIT;
	struct plan_case t = {
		.uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/srv/p", .toolchains = true
	};
	const struct plan_mount *m;

	assert_int_equal(plan_case_build(&t, &built, &e), 0);
	m = find(&built, "/home/alice/.rustup", PLAN_MOUNT_BIND);
	assert_non_null(m);
	assert_int_equal(m->flags, PLAN_READ_ONLY | PLAN_FOLLOW | PLAN_OPTIONAL);
	m = find(&built, "/home/alice/.npm", PLAN_MOUNT_OVERLAY);
	assert_non_null(m);
	assert_int_equal(m->flags, PLAN_FOLLOW | PLAN_OPTIONAL);
	/* Granted, and covered where it turns out to hold a secret. */
	m = find(&built, "/home/alice/.cargo/config.toml", PLAN_MOUNT_BIND);
	assert_non_null(m);
	assert_true(find(&built, "/home/alice/.cargo/config.toml", PLAN_COVER) == m + 1);
}

/* What is secret in HOME, or read by the host's shell, stays so where HOME is the project. */
static void home_as_the_project_is_protected(void **state)
{
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct error e = ERROR_INIT;
	struct plan_case t = { .uid = 1000,
			       .user = "alice",
			       .home = "/home/alice",
			       .cwd = "/home/alice",
			       .policy = "{\"sandbox\":{\"filesystem\":{\"allowWrite\":[\"~/\"]}}}",
			       .toolchains = true };
	const struct plan_mount *m;

	assert_int_equal(plan_case_build(&t, &built, &e), 0);
	m = find(&built, "/home/alice", PLAN_MOUNT_BIND);
	assert_non_null(m);
	assert_int_equal(m->flags, PLAN_PROJECT | PLAN_GRANT);
	assert_non_null(find(&built, "/home/alice/.config/git/credentials", PLAN_COVER));
	m = find(&built, "/home/alice/.bashrc", PLAN_LOCK);
	assert_non_null(m);
	assert_int_equal(m->flags, PLAN_READ_ONLY);
}

/* Each search is a walk of isod-launch's. */
static void searches_are_bounded(void **state)
{
	_cleanup_free_ char *policy = malloc(300 * 40);
	size_t n = (size_t)sprintf(policy, "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/d\"");

	for (int i = 0; i < 257; i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		struct error e = ERROR_INIT;
		struct plan_case t = {
			.uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/srv/p", .policy = policy
		};

		n += (size_t)sprintf(policy + n, ",\"/data/*/x%d\"", i);
		if (i < 255)
			continue;
		strcpy(policy + n, "]}}}");
		assert_int_equal(plan_case_build(&t, &built, &e), i < 256 ? 0 : -E2BIG);
		assert_int_equal(e.code, i < 256 ? ERROR_NONE : ERROR_LIMIT);
	}
	assert_int_equal(LIMIT_PLAN_SEARCHES, 256);
}

/* A project 200 levels deep, a thousand rules in it: far from the bound of the work. */
static void deep_projects_are_within_the_bound(void **state)
{
	_cleanup_free_ char *policy = malloc(1000 * 16 + 100), *cwd = malloc(420);
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct error e = ERROR_INIT;
	struct plan_case t = { .uid = 1000, .user = "alice", .home = "/home/alice", .cwd = cwd, .policy = policy };
	size_t n = (size_t)sprintf(policy, "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"./y\"");

	strcpy(cwd, "/srv");
	for (int i = 0; i < 200; i++)
		strcat(cwd, "/p");
	for (int i = 0; i < 1000; i++)
		n += (size_t)sprintf(policy + n, ",\"./a/b/%d\"", i);
	strcpy(policy + n, "]}}}");
	if (plan_case_build(&t, &built, &e) < 0)
		fail_msg("%s", e.message);
}

/* The rules of one user's plan do not keep the others waiting: a deep path and patterns that each try all of it. */
static void work_is_bounded(void **state)
{
	enum { N = 2000, PARTS = 60 };
	_cleanup_free_ char *policy = malloc(N * 16 + PARTS * 2 + 200);

	for (int wild = 0; wild < 2; wild++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		struct error e = ERROR_INIT;
		struct plan_case t = {
			.uid = 1000, .user = "alice", .home = "/home/alice", .cwd = "/srv/p", .policy = policy
		};
		size_t n = (size_t)sprintf(policy, "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"./y");

		for (int i = 0; i < PARTS; i++)
			n += (size_t)sprintf(policy + n, "/x");
		n += (size_t)sprintf(policy + n, "\"");
		for (int i = 0; i < N; i++)
			n += (size_t)sprintf(policy + n, wild ? ",\"**/a/**/?\"" : ",\"./a/b/%d\"", i);
		sprintf(policy + n, "]}}}");
		assert_int_equal(plan_case_build(&t, &built, &e), wild ? -E2BIG : 0);
		assert_int_equal(e.code, wild ? ERROR_LIMIT : ERROR_NONE);
		assert_true(!wild || strstr(e.message, "take too long"));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mounts_show_what_the_rules_say),
		cmocka_unit_test(rules_that_change_nothing_are_no_mounts),
		cmocka_unit_test(tool_chains_and_caches_are_granted),
		cmocka_unit_test(home_as_the_project_is_protected),
		cmocka_unit_test(searches_are_bounded),
		cmocka_unit_test(deep_projects_are_within_the_bound),
		cmocka_unit_test(work_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
