/* sandbox.gpgAgent: which keys of the user's gpg-agent a session is lent. */
#include <string.h>

#include "base/limits.h"
#include "gpgagent/gpg_rules.h"
#include "json/printable.h"
#include "policy/policy_key.h"

static int read_key(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		    const struct policy_place *place)
{
	struct policy_list *list = policy_list_of(b, key);
	char grip[GPG_GRIP_LEN + 1];

	if (!gpg_grip_canonical(item->string.data, item->string.len, grip))
		return policy_refuse(b, place, "Copy it from gpg --list-secret-keys --with-keygrip.",
				     "\"%s\" is no keygrip, which has 40 hex digits.",
				     json_printable(item->string.data).text);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].text, grip) == 0)
			return 0;
	if (list->count >= LIMIT_GPG_KEYS)
		return policy_refuse(b, place, NULL, "There are more than %u keys.", LIMIT_GPG_KEYS);
	return policy_list_append(b, list, grip, place->line);
}

int policy_read_gpg_keys(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			 const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_key);
}

bool policy_lends_gpg(const struct policy *p)
{
	return p->gpg_enabled.on && p->gpg_keys.count > 0;
}
