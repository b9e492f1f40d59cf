#ifndef ISOD_CONTROL_GPG_PLAN_H
#define ISOD_CONTROL_GPG_PLAN_H
/* What a session is lent of its user's gpg-agent. */
#include "base/error.h"
#include "policy/policy.h"

/* The keygrips in wire form (gpgagent/gpg_rules.h), sealed: a descriptor, or -errno with *e. */
int gpg_plan_seal(const struct policy *policy, struct error *e);

#endif
