#include "daemon/session/gateway/refusal_text.h"

#include <stdio.h>
#include <string.h>

/* The body: a few lines of bounded texts. */
#define BODY_MAX 8192

static const char *phrase_of(unsigned status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 408:
		return "Request Timeout";
	case 429:
		return "Too Many Requests";
	case 501:
		return "Not Implemented";
	case 502:
		return "Bad Gateway";
	case 503:
		return "Service Unavailable";
	default:
		return "HTTP Version Not Supported";
	}
}

static const char *retry_text(uint32_t reason)
{
	return egress_reason_passes(reason) ? "Trying again later can help."
					    : "Do not retry: the answer stays the same until the policy or the request "
					      "changes.";
}

/* "deny *.example.com", of which nothing needs to be escaped. */
static void describe_rule(const struct egress_rule *rule, char *ret, size_t size)
{
	char text[EGRESS_RULE_TEXT_MAX];

	ret[0] = '\0';
	if (!rule)
		return;
	egress_rule_format(rule, text);
	snprintf(ret, size, "%s %s", rule->deny ? "deny" : "allow", text);
}

static const char *why_of(const struct refusal_text *t)
{
	return t->reason == EGRESS_DENIED && t->rule && t->rule->why ? t->rule->why : "";
}

/* A program chooses its own name: nothing but plain ASCII of it is shown. */
static int append_plain(struct buffer *b, const char *text)
{
	int r = 0;

	for (const char *p = text; *p && r == 0; p++)
		r = buffer_append_u8(b, *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\' ? (uint8_t)*p : '?');
	return r;
}

static int append_lines(const struct refusal_text *t, const char *rule, const char *hint, struct buffer *b)
{
	int r = t->authority[0]
			? buffer_printf(b, "isod: %s: refused (%s)\n", t->authority, egress_reason_name(t->reason))
			: buffer_printf(b, "isod: refused (%s)\n", egress_reason_name(t->reason));

	if (r == 0)
		r = buffer_printf(b, "%s\n", t->message);
	if (r == 0 && why_of(t)[0])
		r = buffer_printf(b, "Its owner says: %s\n", why_of(t));
	if (r == 0 && rule[0])
		r = buffer_printf(b, "Rule: %s\n", rule);
	if (r == 0 && hint[0])
		r = buffer_printf(b, "%s\n", hint);
	if (r == 0)
		r = buffer_printf(b, "%s\n", retry_text(t->reason));
	if (r == 0 && t->program[0]) {
		r = buffer_append_string(b, "Asked for by ");
		if (r == 0)
			r = append_plain(b, t->program);
		if (r == 0)
			r = buffer_printf(b, " (pid %u)", t->pid);
		if (r == 0 && t->session[0])
			r = buffer_printf(b, " in session %s", t->session);
		if (r == 0)
			r = buffer_append_string(b, "\n");
	}
	return r;
}

/* "name":"text" with a comma before; text: checked UTF-8 without control characters, or plain ASCII. */
static int append_member(struct buffer *b, const char *name, const char *text)
{
	int r = text[0] ? buffer_printf(b, ",\"%s\":\"", name) : 0;

	if (text[0] == '\0' || r < 0)
		return r;
	for (const char *p = text; *p && r == 0; p++) {
		if (*p == '"' || *p == '\\')
			r = buffer_append_u8(b, '\\');
		if (r == 0)
			r = buffer_append_u8(b, (uint8_t)*p);
	}
	return r < 0 ? r : buffer_append_string(b, "\"");
}

static int append_json(const struct refusal_text *t, const char *rule, const char *hint, struct buffer *b)
{
	int r = buffer_printf(b, "{\"error\":\"refused\",\"reason\":\"%s\",\"retry\":%s", egress_reason_name(t->reason),
			      egress_reason_passes(t->reason) ? "true" : "false");

	if (r == 0)
		r = append_member(b, "message", t->message);
	if (r == 0)
		r = append_member(b, "host", t->host);
	if (r == 0 && t->port)
		r = buffer_printf(b, ",\"port\":%u", t->port);
	if (r == 0)
		r = append_member(b, "rule", rule);
	if (r == 0)
		r = append_member(b, "why", why_of(t));
	if (r == 0)
		r = append_member(b, "hint", hint);
	if (r == 0 && t->program[0]) {
		r = buffer_append_string(b, ",\"program\":\"");
		if (r == 0)
			r = append_plain(b, t->program);
		if (r == 0)
			r = buffer_printf(b, "\",\"pid\":%u", t->pid);
	}
	if (r == 0)
		r = append_member(b, "session", t->session);
	return r < 0 ? r : buffer_append_string(b, "}\n");
}

int refusal_text_append(const struct refusal_text *t, struct buffer *ret)
{
	_cleanup_buffer_ struct buffer body = BUFFER_INIT(BODY_MAX);
	char hint[EGRESS_HINT_MAX], rule[EGRESS_RULE_TEXT_MAX + 8];
	int r;

	egress_reason_hint(t->reason, t->command, t->host, t->port, hint);
	describe_rule(t->rule, rule, sizeof(rule));
	r = t->json ? append_json(t, rule, hint, &body) : append_lines(t, rule, hint, &body);
	if (r == 0)
		/* Of an answer to CONNECT most tools show this line alone. */
		r = buffer_printf(ret, "HTTP/1.1 %u %s (isod: %s)\r\nX-Isod-Reason: %s\r\n", t->status,
				  phrase_of(t->status), egress_reason_name(t->reason), egress_reason_name(t->reason));
	if (r == 0 && rule[0])
		r = buffer_printf(ret, "X-Isod-Rule: %s\r\n", rule);
	if (r == 0 && hint[0])
		r = buffer_printf(ret, "X-Isod-Hint: %s\r\n", hint);
	if (r == 0 && t->retry_after)
		r = buffer_printf(ret, "Retry-After: %u\r\n", t->retry_after);
	if (r == 0)
		r = buffer_printf(ret,
				  "X-Isod-Retry: %s\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %zu\r\n"
				  "Connection: close\r\n\r\n",
				  egress_reason_passes(t->reason) ? "later" : "no",
				  t->json ? "application/json" : "text/plain", body.len);
	return r < 0 ? r : buffer_append(ret, body.data, body.len);
}
