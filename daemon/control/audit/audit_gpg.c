#include "daemon/control/audit/audit_gpg.h"

#include <string.h>

#include "gpgagent/gpg_verdict.h"

bool audit_gpg_is_valid(const struct session_agent *m, size_t n)
{
	return n == sizeof(*m) && m->request < GPG_REQUEST_KIND_COUNT && m->reason < GPG_REASON_COUNT && m->count > 0 &&
	       memchr(m->fingerprint, '\0', sizeof(m->fingerprint)) && memchr(m->target, '\0', sizeof(m->target)) &&
	       memchr(m->program, '\0', sizeof(m->program));
}

static void write_text(struct json_writer *w, const char *key, const char *text)
{
	if (text[0] == '\0')
		return;
	json_write_key(w, key);
	json_write_bytes(w, text, strlen(text));
}

void audit_gpg_write(struct json_writer *w, const struct session_agent *m)
{
	json_write_member_string(w, "request", gpg_request_name(m->request));
	json_write_member_string(w, "verdict", m->reason == GPG_ALLOWED ? "allow" : "deny");
	json_write_member_string(w, "reason", gpg_reason_name(m->reason));
	write_text(w, "key", m->fingerprint);
	write_text(w, m->request == GPG_REQUEST_OTHER ? "command" : "hash", m->target);
	if (m->pid > 0)
		json_write_member_integer(w, "pid", m->pid);
	write_text(w, "program", m->program);
	if (m->count > 1)
		json_write_member_integer(w, "count", (int64_t)(m->count & INT64_MAX));
}
