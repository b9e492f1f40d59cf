#include "client/policy/policy_tls.h"

#include <string.h>

#include "client/listing.h"
#include "policy/egress_tls.h"

static bool denies_ech(const struct json_value *tls)
{
	const struct json_value *ech = tls ? json_get(tls, "ech") : NULL;
	const struct json_value *word = ech && ech->type == JSON_OBJECT ? json_get(ech, "value") : NULL;

	return word && word->type == JSON_STRING && strcmp(word->string.data, "deny") == 0;
}

/* Is this entry of noSni about the host? */
static bool is_about(const struct json_value *item, const struct policy_operand *host, uint16_t port)
{
	const struct json_value *text = item->type == JSON_OBJECT ? json_get(item, "value") : NULL;
	const struct egress_target t = { .name = host->is_literal ? NULL : host->host, .port = port };
	struct error ignored = ERROR_INIT;
	struct egress_rule rule;
	struct egress_rules rules = { .tls = { .no_sni = &rule, .n_no_sni = 1 } };
	bool about;

	if (!text || text->type != JSON_STRING || egress_rule_parse(text->string.data, true, &rule, &ignored) < 0)
		return false;
	about = egress_tls_needs_no_name(&rules, &t);
	egress_rule_done(&rule);
	return about;
}

/* The first entry that lets a client of the host be without its name, or NULL. */
static const struct json_value *find_no_sni(const struct json_value *tls, const struct policy_operand *host,
					    uint16_t port)
{
	const struct json_value *list = tls ? json_get(tls, "noSni") : NULL;

	for (size_t i = 0; list && list->type == JSON_ARRAY && i < list->array.count; i++)
		if (is_about(&list->array.items[i], host, port))
			return &list->array.items[i];
	return NULL;
}

int policy_tls_append(struct buffer *out, const struct json_value *tls, const struct policy_operand *host,
		      uint16_t port)
{
	const struct json_value *unnamed = find_no_sni(tls, host, port);
	int r = denies_ech(tls) ? listing_append_origin(out, "  tls.ech", json_get(tls, "ech")) : 0;

	return r < 0 || !unnamed ? r : listing_append_origin(out, "  tls.noSni", unnamed);
}

void policy_tls_write(struct json_writer *w, const struct json_value *tls, const struct policy_operand *host,
		      uint16_t port)
{
	json_write_object(w);
	json_write_member_string(w, "ech", denies_ech(tls) ? "deny" : "allow");
	json_write_member_bool(w, "noSni", find_no_sni(tls, host, port) != NULL);
	json_write_object_end(w);
}
