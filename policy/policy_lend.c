/* What lends something of the host's or the user's to a session comes from one of them, not from a file that may have
 * come with a project. Such a file may still take away. */
#include <stdio.h>

#include "base/cleanup.h"
#include "policy/policy_key.h"

/* Named one by one, so that a further layer is not among them. */
static bool may_lend(enum policy_layer_kind layer, bool trusted)
{
	return (layer == POLICY_FILE && trusted) || layer == POLICY_ADMINISTRATOR || layer == POLICY_USER ||
	       layer == POLICY_COMMAND_LINE;
}

static bool lends(const struct policy_key *key, const struct json_value *value)
{
	switch (key->lending) {
	case POLICY_LENDS_NOTHING:
		return false;
	case POLICY_LENDS_ENTRIES:
		return value->type != JSON_ARRAY || value->array.count > 0;
	case POLICY_LENDS_MEMBERS:
		return value->type != JSON_OBJECT || value->object.count > 0;
	case POLICY_LENDS_BY_TRUE:
		return value->type != JSON_BOOL || value->boolean;
	case POLICY_LENDS_BY_FALSE:
		return value->type != JSON_BOOL || !value->boolean;
	}
	return true;
}

int policy_lend_check(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place)
{
	char remedy[ERROR_REMEDY_MAX];

	if (may_lend(b->layer, b->trusted) || !lends(key, value))
		return 0;
	snprintf(remedy, sizeof(remedy),
		 "Write it into your own policy, ~/.config/isod/policy.json%s%s, or confirm this one: isoctl trust "
		 "--policy FILE.",
		 key->option ? ", use isoctl run " : "", key->option ? key->option : "");
	return policy_refuse(b, place, remedy,
			     "A policy file of --policy that is not trusted cannot lend what is the host's or yours: "
			     "it may have come with a project.");
}
