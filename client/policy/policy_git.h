#ifndef ISOD_CLIENT_POLICY_GIT_H
#define ISOD_CLIENT_POLICY_GIT_H
/* The policy text that isoctl adds for git's sake, see client/run/run_git.h. */
#include "base/buffer.h"
#include "client/policy/policy_texts.h"
#include "client/run/run_environment.h"

/*
 * Adds it to t, before the command line's, whose rules may say otherwise. policy: t and the administrator's, merged;
 * NULL: t alone is. environment: what passes; NULL. notes: sentences that each end in NUL are appended; NULL. 0, or
 * -errno with *e filled.
 */
int policy_git_add(struct policy_texts *t, const char *project, const struct policy *policy,
		   const struct run_environment *environment, struct buffer *notes, struct error *e);

#endif
