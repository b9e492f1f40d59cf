#ifndef ISOD_POLICY_POLICY_RULES_H
#define ISOD_POLICY_POLICY_RULES_H
/*
 * The path rules of a session: the project, the user's, tool chains and caches, protections, each with where it came
 * from. What the mounts, the search at the start, the refusals later, "policy test" and "policy explain" go by.
 */
#include "policy/policy.h"
#include "view/path_rules.h"

enum policy_rule_kind {
	POLICY_RULE_PROJECT, /* PATH_ALLOW_WRITE, or PATH_OVERLAY with overlayProject */
	POLICY_RULE_ALLOW_READ,
	POLICY_RULE_ALLOW_WRITE,
	POLICY_RULE_OVERLAY,
	POLICY_RULE_DENY_READ,
	POLICY_RULE_DENY_WRITE,
	POLICY_RULE_DEVICE, /* PATH_ALLOW_WRITE below /dev: PLAN_MOUNT_DEVICE */
	POLICY_RULE_TOOLCHAIN,
	POLICY_RULE_CACHE,
	POLICY_RULE_PROTECT,
	POLICY_RULE_KIND_COUNT
};

struct policy_rule_source {
	enum policy_rule_kind kind;
	const char *text; /* as written: "~/.cache", a pattern of a table; borrowed from the policy or a table */
	struct policy_origin origin;
};

struct policy_rules {
	struct path_rule *rules;            /* expanded patterns, owned */
	struct policy_rule_source *sources; /* of rules[i] */
	size_t n;
	size_t room;
	size_t bytes; /* of the patterns */
};

#define POLICY_RULES_INIT                                                                                              \
	{                                                                                                              \
		.rules = NULL                                                                                          \
	}

/*
 * home, project: clean absolute paths. Rules of the built-in tables that are about HOME are left out where home is "/"
 * or no such path. Groups and switches that are off give no rules. A rule of the user's that cannot be expanded is
 * refused with *e filled, so are more than LIMIT_PLAN_RULES or patterns of more than LIMIT_PLAN bytes: no plan could
 * hold them. 0, -EINVAL, -ENAMETOOLONG, -E2BIG, -ENOMEM; policy_rules_done() in any case.
 */
int policy_rules_build(const struct policy *p, const char *home, const char *project, struct policy_rules *ret,
		       struct error *e);
void policy_rules_done(struct policy_rules *r);
#define _cleanup_policy_rules_ __attribute__((cleanup(policy_rules_done)))

/* "allow-read", "allow-write", "overlay", "deny-read", "deny-write", "exempt". */
const char *policy_rule_effect(uint32_t effect);

/* The key of the policy that gives rules of this kind: "sandbox.filesystem.allowRead"; "" for the project. */
const char *policy_rule_key(enum policy_rule_kind kind);

#endif
