#ifndef ISOD_CONTROL_PLAN_BUILD_H
#define ISOD_CONTROL_PLAN_BUILD_H
/*
 * Request + policy -> plan. Pure: no system call, so that the same input always gives the same plan (golden tests).
 * What has to be looked up on the machine (user database, layout of /) comes in through the input.
 */
#include "base/error.h"
#include "daemon/control/caller.h"
#include "daemon/control/string_list.h"
#include "daemon/control/plan/view_probe.h"
#include "daemon/wire/plan.h"
#include "policy/policy.h"
#include "policy/policy_rules.h"
#include "proto/schema.h"

struct plan_input {
	const char *id;
	const struct caller *caller;
	const struct run_parameters *run;
	const struct policy *policy;
	const struct view_probe *probe;
	bool ssh; /* the session has an ssh-agent */
	bool gpg; /* and a gpg-agent */
};

/* A plan with the memory of its texts and arrays; what the request says itself (id, cwd, links) is only borrowed. */
struct plan_built {
	struct plan plan;
	struct plan_mount *mounts;
	size_t room;
	struct policy_rules rules; /* of the policy: what they come from */
	struct plan_port *ports;
	struct path_rule *plan_rules; /* the same, without known links */
	struct string_list texts;
	struct string_list argv;
	struct string_list envp;
	struct string_list notes;   /* for the banner: what the user should know; no order */
	struct string_list lacking; /* of the policy's rules: what is not enforced, sentences */
};

#define PLAN_BUILT_INIT                                                                                                \
	{                                                                                                              \
		.mounts = NULL                                                                                         \
	}

/* 0, or -errno with *e: ERROR_INVALID, ERROR_REFUSED, ERROR_POLICY, ERROR_LIMIT. plan_built_done() in any case. */
int plan_build(const struct plan_input *in, struct plan_built *ret, struct error *e);
void plan_built_done(struct plan_built *b);
#define _cleanup_plan_built_ __attribute__((cleanup(plan_built_done)))

#endif
