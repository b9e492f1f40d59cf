#include "client/denial.h"

#include <string.h>

#include "base/cleanup.h"
#include "client/listing.h"
#include "policy/egress.h"

static const char *text_of(const struct json_value *event, const char *name)
{
	const struct json_value *v = json_get(event, name);

	return v && v->type == JSON_STRING ? v->string.data : "";
}

static int64_t number_of(const struct json_value *event, const char *name)
{
	const struct json_value *v = json_get(event, name);

	return v && v->type == JSON_INTEGER ? v->integer : 0;
}

bool denial_is_one(const struct json_value *event)
{
	static const char *const suffixes[] = { ".refused", ".denied" };
	const char *name = text_of(event, "event");

	if (strcmp(text_of(event, "verdict"), "deny") == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]), len = strlen(name);

		if (len > n && strcmp(name + len - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

static int append_program(struct buffer *out, const struct json_value *event)
{
	int r = buffer_append_string(out, "  by ");

	if (r == 0 && json_get(event, "peerUid"))
		r = buffer_printf(out, "uid %lld", (long long)number_of(event, "peerUid"));
	else if (r == 0)
		r = json_get(event, "program") ? listing_append(out, json_get(event, "program"))
					       : buffer_append_string(out, "an unknown program");
	if (r == 0 && number_of(event, "pid") > 0)
		r = buffer_printf(out, " (pid %lld)", (long long)number_of(event, "pid"));
	if (r == 0)
		r = buffer_append_string(out, " in session ");
	if (r == 0)
		r = listing_append(out, json_get(event, "session"));
	if (r == 0 && number_of(event, "count") > 1)
		r = buffer_printf(out, ", %lld times", (long long)number_of(event, "count"));
	return r < 0 ? r : buffer_append_string(out, "\n");
}

/* "HOST:PORT" as far as they are known; packets have addresses alone. */
static int append_target(struct buffer *out, const struct json_value *event)
{
	const struct json_value *host = json_get(event, "name"), *port = json_get(event, "port");
	int r;

	if (!host)
		host = json_get(event, "address");
	r = host ? listing_append(out, host) : buffer_append_string(out, "an unknown host");
	if (r == 0 && port && port->type == JSON_INTEGER && port->integer > 0 &&
	    strcmp(text_of(event, "via"), "dns") != 0)
		r = buffer_printf(out, ":%lld", (long long)port->integer);
	if (r == 0 && text_of(event, "via")[0]) {
		r = buffer_append_string(out, " via ");
		if (r == 0)
			r = listing_append(out, json_get(event, "via"));
	}
	return r;
}

static int append_line(struct buffer *out, const char *before, const struct json_value *v)
{
	int r = buffer_append_string(out, before);

	if (r == 0)
		r = listing_append(out, v);
	return r;
}

static int append_rule(struct buffer *out, const struct json_value *event)
{
	int r;

	if (!json_get(event, "rule"))
		return 0;
	r = append_line(out, "  rule ", json_get(event, "rule"));
	if (r == 0)
		r = append_line(out, "  (", json_get(event, "from"));
	if (r == 0 && json_get(event, "file"))
		r = append_line(out, " ", json_get(event, "file"));
	if (r == 0 && number_of(event, "line") > 0)
		r = buffer_printf(out, ":%lld", (long long)number_of(event, "line"));
	if (r == 0)
		r = buffer_append_string(out, ")\n");
	if (r == 0 && json_get(event, "why")) {
		r = append_line(out, "  its owner says: ", json_get(event, "why"));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

static int append_hint(struct buffer *out, const struct json_value *event, uint32_t reason)
{
	bool dns = strcmp(text_of(event, "via"), "dns") == 0;
	int64_t port = dns ? 443 : number_of(event, "port");
	char hint[EGRESS_HINT_MAX];

	egress_reason_hint(reason, "isoctl run", text_of(event, "name"),
			   port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0, hint);
	return hint[0] ? buffer_printf(out, "  %s\n", hint) : 0;
}

int denial_append(struct buffer *out, const struct json_value *event, bool *ret_known)
{
	uint32_t reason = egress_reason_from_name(text_of(event, "reason"));
	int r;

	*ret_known = json_get(event, "verdict") && reason < EGRESS_REASON_COUNT;
	if (!*ret_known)
		return 0;
	r = listing_append(out, json_get(event, "time"));
	if (r == 0)
		r = buffer_append_string(out, " ");
	if (r == 0)
		r = append_target(out, event);
	if (r == 0)
		r = buffer_printf(out, ": %s. %s\n", egress_reason_name(reason), egress_reason_text(reason));
	if (r == 0)
		r = append_program(out, event);
	if (r == 0)
		r = append_rule(out, event);
	return r < 0 ? r : append_hint(out, event, reason);
}
