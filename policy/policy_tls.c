/* network.tls: what a ClientHello must be like. */
#include <string.h>

#include "json/printable.h"
#include "policy/policy_key.h"

/* A denial of any layer stands. */
int policy_read_ech(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		    const struct policy_place *place)
{
	struct policy_switch *s = (struct policy_switch *)((char *)b->policy + key->offset);
	const char *text = value->type == JSON_STRING ? value->string.data : "";
	bool deny = strcmp(text, "deny") == 0;

	if (!deny && strcmp(text, "allow") != 0)
		return policy_refuse(b, place, NULL, "The value must be \"allow\" or \"deny\".");
	if (deny || !s->on)
		*s = (struct policy_switch){ .on = deny, .origin = policy_builder_origin(b, place->line) };
	return 0;
}

static int read_host(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		     const struct policy_place *place)
{
	struct error cause = ERROR_INIT;
	struct egress_rule rule;
	int r;

	if (b->policy->egress.tls.n_no_sni == LIMIT_EGRESS_NO_SNI)
		return policy_refuse(b, place, "Write \"*.example.com\" for many names of one domain.",
				     "There are more than %u hosts.", LIMIT_EGRESS_NO_SNI);
	if (egress_rule_parse(item->string.data, true, &rule, &cause) < 0)
		return policy_refuse_cause(b, place, &cause);
	if (rule.kind != EGRESS_RULE_HOST && rule.kind != EGRESS_RULE_SUFFIX)
		return policy_refuse(b, place, "Name a host, or remove the entry.",
				     "\"%s\" is an address: TLS to an address that a rule allows needs no name.",
				     json_printable(item->string.data).text);
	r = policy_no_sni_append(b, &rule);
	if (r < 0)
		egress_rule_done(&rule);
	return r < 0 ? r : policy_list_append(b, policy_list_of(b, key), item->string.data, place->line);
}

/* Named one by one, so that a further layer is not among them: what came with a project must not loosen a check. */
int policy_read_no_sni(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		       const struct policy_place *place)
{
	if (b->layer != POLICY_ADMINISTRATOR && b->layer != POLICY_USER)
		return policy_refuse(b, place, "Write it into your own policy, ~/.config/isod/policy.json.",
				     "Only the administrator's and the user's own policy may let TLS pass that names "
				     "no server.");
	return policy_read_array(b, key, value, place, read_host);
}
