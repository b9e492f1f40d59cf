#include "daemon/control/audit/audit_ssh.h"

#include <string.h>

#include "sshagent/ssh_request.h"
#include "sshagent/ssh_verdict.h"

static const char *const names[] = {
	[SSH_REQUEST_OTHER] = "other",
	[SSH_REQUEST_LIST] = "list",
	[SSH_REQUEST_SIGN] = "sign",
	[SSH_REQUEST_BIND] = "bind",
};

bool audit_ssh_is_valid(const struct session_agent *m, size_t n)
{
	return n == sizeof(*m) && m->request <= SSH_REQUEST_BIND && m->reason < SSH_REASON_COUNT && m->count > 0 &&
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

void audit_ssh_write(struct json_writer *w, const struct session_agent *m)
{
	json_write_member_string(w, "request", names[m->request]);
	json_write_member_string(w, "verdict", m->reason == SSH_ALLOWED ? "allow" : "deny");
	json_write_member_string(w, "reason", ssh_reason_name(m->reason));
	write_text(w, m->request == SSH_REQUEST_BIND ? "hostKey" : "key", m->fingerprint);
	write_text(w, "for", m->target);
	if (m->request == SSH_REQUEST_LIST)
		json_write_member_integer(w, "keys", m->keys);
	if (m->request == SSH_REQUEST_OTHER)
		json_write_member_integer(w, "type", m->code);
	if (m->pid > 0)
		json_write_member_integer(w, "pid", m->pid);
	write_text(w, "program", m->program);
	if (m->count > 1)
		json_write_member_integer(w, "count", (int64_t)(m->count & INT64_MAX));
}
