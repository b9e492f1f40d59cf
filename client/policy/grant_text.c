#include "client/policy/grant_text.h"

#include <string.h>

#include "client/listing.h"

static const char *scope_of(const struct json_value *grant)
{
	const struct json_value *scope = json_get(grant, "scope"), *used = json_get(grant, "used");

	if (!scope || scope->type != JSON_STRING || strcmp(scope->string.data, "once") != 0)
		return "for the session";
	return used && used->type == JSON_BOOL && used->boolean ? "for one connection, which is open"
								: "for one connection";
}

int grant_text_append(struct buffer *out, const struct json_value *grant)
{
	const struct json_value *ends = json_get(grant, "ends");
	int r = listing_append(out, json_get(grant, "host"));

	if (r == 0)
		r = buffer_printf(out, " (%s", scope_of(grant));
	if (r == 0 && ends && ends->type == JSON_STRING) {
		r = buffer_append_string(out, ", until ");
		if (r == 0)
			r = listing_append(out, ends);
	}
	return r < 0 ? r : buffer_append_string(out, ")\n");
}
