#ifndef ISOD_CONTROL_SSH_PLAN_H
#define ISOD_CONTROL_SSH_PLAN_H
/* What a session is lent of its user's ssh-agent. */
#include <stdbool.h>

#include "base/error.h"
#include "daemon/control/string_list.h"
#include "policy/policy.h"

/* The rules in wire form (sshagent/ssh_rules.h), sealed: a descriptor, or -errno with *e. notes: hosts that cannot be
 * logged in to, since nobody says which key they have. */
int ssh_plan_seal(const struct policy *policy, struct string_list *notes, struct error *e);

#endif
