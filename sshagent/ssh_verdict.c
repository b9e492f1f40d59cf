#include "sshagent/ssh_verdict.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* SSH_AGENT_RSA_SHA2_256 and _512. */
#define FLAGS_KNOWN (2u | 4u)

static const char *const names[] = {
	[SSH_ALLOWED] = "allowed",
	[SSH_NOT_SERVED] = "not-served",
	[SSH_MALFORMED] = "malformed",
	[SSH_KEY_NOT_NAMED] = "key-not-named",
	[SSH_NOT_BOUND] = "not-bound",
	[SSH_HOST_NOT_NAMED] = "host-not-named",
	[SSH_FORWARDED] = "forwarded",
	[SSH_BAD_PROOF] = "bad-proof",
	[SSH_BOUND_ALREADY] = "bound-already",
	[SSH_NAMESPACE] = "namespace",
	[SSH_NOT_RECOGNISED] = "not-recognised",
	[SSH_NOT_HOSTBOUND] = "not-hostbound",
	[SSH_WEAK_HASH] = "weak-hash",
	[SSH_AGENT_FAILED] = "agent-failed",
};
_Static_assert(ARRAY_SIZE(names) == SSH_REASON_COUNT, "one name a reason");

const char *ssh_reason_name(uint32_t reason)
{
	return reason < SSH_REASON_COUNT ? names[reason] : "unknown";
}

static struct ssh_span session_of(const struct ssh_bound *bound)
{
	return (struct ssh_span){ bound->session_id, bound->session_id_len };
}

static enum ssh_reason bind_again(const struct ssh_bound *bound, const struct ssh_request *q)
{
	switch (bound->state) {
	case SSH_BOUND_FORWARDED:
		return SSH_FORWARDED;
	case SSH_BOUND_ELSEWHERE:
		return SSH_HOST_NOT_NAMED;
	default:
		return ssh_span_equals(bound->host_key, q->key) && ssh_span_equals(session_of(bound), q->session_id)
			       ? SSH_ALLOWED
			       : SSH_BOUND_ALREADY;
	}
}

enum ssh_reason ssh_verdict_bind(const struct ssh_rules *rules, struct ssh_bound *bound,
				 const struct ssh_request *request, ssh_verify_fn *verify, const char **ret_target)
{
	size_t len = request->session_id.len;
	const char *host;

	*ret_target = bound->host ? bound->host : "";
	/* Whatever it was before: from here on another machine may talk. */
	if (request->forwarding)
		bound->state = SSH_BOUND_FORWARDED;
	if (bound->state != SSH_UNBOUND)
		return bind_again(bound, request);
	host = ssh_rules_host_of(rules, request->key);
	if (!host) {
		bound->state = SSH_BOUND_ELSEWHERE;
		return SSH_HOST_NOT_NAMED;
	}
	*ret_target = host;
	if (len == 0 || len > sizeof(bound->session_id) ||
	    !verify(request->key, request->signature, request->session_id))
		return SSH_BAD_PROOF;
	for (uint32_t i = 0; i < rules->n_host_keys; i++)
		if (ssh_span_equals(rules->host_keys[i].key, request->key))
			bound->host_key = rules->host_keys[i].key;
	bound->state = SSH_BOUND_TO_HOST;
	bound->host = host;
	memcpy(bound->session_id, request->session_id.data, len);
	bound->session_id_len = len;
	return SSH_ALLOWED;
}

static enum ssh_reason judge_login(const struct ssh_rules *rules, const struct ssh_bound *bound,
				   const struct ssh_request *q, const struct ssh_signed *s)
{
	if (bound->state == SSH_BOUND_ELSEWHERE)
		return SSH_HOST_NOT_NAMED;
	if (bound->state != SSH_BOUND_TO_HOST || !ssh_span_equals(session_of(bound), s->session_id))
		return SSH_NOT_BOUND;
	if (s->host_key.len > 0 && !ssh_span_equals(bound->host_key, s->host_key))
		return SSH_NOT_BOUND;
	if (rules->hostbound && s->host_key.len == 0)
		return SSH_NOT_HOSTBOUND;
	return ssh_span_equals(q->key, s->key) ? SSH_ALLOWED : SSH_NOT_RECOGNISED;
}

/* An agent signs with SHA-1 where neither flag asks for SHA-2. */
static bool is_weak(const struct ssh_request *q)
{
	struct ssh_reader r = ssh_reader_of(q->key);
	struct ssh_span type;

	return (q->flags & FLAGS_KNOWN) == 0 && ssh_read_string(&r, &type) &&
	       (ssh_span_is(type, "ssh-rsa") || ssh_span_is(type, "ssh-rsa-cert-v01@openssh.com"));
}

static void set_target(char target[SSH_TARGET_MAX], struct ssh_span name)
{
	size_t n = name.len < SSH_TARGET_MAX - 1 ? name.len : SSH_TARGET_MAX - 1;

	for (size_t i = 0; i < n; i++)
		target[i] = name.data[i] >= 0x20 && name.data[i] < 0x7f ? (char)name.data[i] : '?';
	target[n] = '\0';
}

enum ssh_reason ssh_verdict_sign(const struct ssh_rules *rules, const struct ssh_bound *bound,
				 const struct ssh_request *request, bool named, char target[SSH_TARGET_MAX])
{
	enum ssh_reason reason = SSH_NOT_RECOGNISED;
	struct ssh_signed s;

	ssh_signed_parse(request->data, &s);
	target[0] = '\0';
	if (s.kind == SSH_SIGNED_LOGIN) {
		reason = judge_login(rules, bound, request, &s);
		if (bound->host)
			snprintf(target, SSH_TARGET_MAX, "%s", bound->host);
	} else if (s.kind == SSH_SIGNED_SIGNATURE) {
		reason = rules->git_signatures && ssh_span_is(s.name, "git") ? SSH_ALLOWED : SSH_NAMESPACE;
		set_target(target, s.name);
	}
	if (bound->state == SSH_BOUND_FORWARDED)
		return SSH_FORWARDED;
	if (!named)
		return SSH_KEY_NOT_NAMED;
	if (request->flags & ~FLAGS_KNOWN)
		return SSH_NOT_RECOGNISED;
	return reason == SSH_ALLOWED && is_weak(request) ? SSH_WEAK_HASH : reason;
}
