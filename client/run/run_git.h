#ifndef ISOD_CLIENT_RUN_GIT_H
#define ISOD_CLIENT_RUN_GIT_H
/*
 * What git needs in a session and the project does not hold, and what of git's must not be written there: a policy text
 * of the client's own, made by looking at the project as the user. The daemon never looks into the project.
 */
#include "base/error.h"
#include "client/run/run_environment.h"
#include "client/run/run_git_rules.h"
#include "policy/policy.h"

/*
 * project: clean, absolute, without a symlink. policy: the user's, merged, for its switches. environment: what passes;
 * where it or the policy has git's own variables for settings, none are added to them. 0, or -errno with *e filled;
 * run_git_rules_init() before, run_git_rules_done() in any case.
 */
int run_git_collect(const char *project, const struct policy *policy, const struct run_environment *environment,
		    struct run_git_rules *ret, struct error *e);

#endif
