/* sandbox.network.onUnlisted. */
#include <stddef.h>
#include <string.h>

#include "policy/policy_key.h"

static const char *const words[] = {
	[EGRESS_UNLISTED_DENY] = "deny",
	[EGRESS_UNLISTED_ASK] = "ask",
	[EGRESS_UNLISTED_LEARN] = "learn",
};
_Static_assert(sizeof(words) / sizeof(words[0]) == EGRESS_UNLISTED_COUNT, "one word a way");

const char *policy_unlisted_name(uint32_t unlisted)
{
	return unlisted < EGRESS_UNLISTED_COUNT ? words[unlisted] : "unknown";
}

/* Named one by one, so that a further layer is not among them: what came with a project must not open its network. */
static bool may_learn(enum policy_layer_kind layer)
{
	return layer == POLICY_ADMINISTRATOR || layer == POLICY_USER || layer == POLICY_COMMAND_LINE;
}

int policy_read_unlisted(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			 const struct policy_place *place)
{
	const char *text = value->type == JSON_STRING ? value->string.data : "";
	struct policy *p = b->policy;
	uint32_t said = 0;

	while (said < EGRESS_UNLISTED_COUNT && strcmp(words[said], text) != 0)
		said++;
	if (said == EGRESS_UNLISTED_COUNT)
		return policy_refuse(b, place, NULL, "The value must be \"deny\", \"ask\" or \"learn\".");
	if (said == EGRESS_UNLISTED_LEARN && !may_learn(b->layer))
		return policy_refuse(b, place, "Use isoctl run --on-unlisted learn, or write it into your own policy.",
				     "A policy file of --policy cannot say \"learn\".");
	if (b->layer == POLICY_ADMINISTRATOR)
		p->unlisted.most = said;
	p->unlisted.overruled = said > p->unlisted.most;
	if (p->unlisted.overruled)
		return 0;
	p->egress.unlisted = said;
	p->unlisted.origin = policy_builder_origin(b, place->line);
	return 0;
}
