#include "daemon/control/plan/gpg_plan.h"

#include <string.h>

#include "base/fd.h"
#include "gpgagent/gpg_rules.h"

int gpg_plan_seal(const struct policy *policy, struct error *e)
{
	char wire[LIMIT_GPG_KEYS * GPG_GRIP_LEN];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < policy->gpg_keys.count && i < LIMIT_GPG_KEYS; i++, n += GPG_GRIP_LEN)
		memcpy(wire + n, policy->gpg_keys.items[i].text, GPG_GRIP_LEN);
	r = fd_sealed_new("gpg rules", wire, n);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "gpg-agent", NULL, "No memory file: %s.", strerror(-r)) : r;
}
