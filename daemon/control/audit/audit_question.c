/* What a session asked its owner, and what became of it. */
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/questions.h"
#include "daemon/control/session.h"
#include "json/write.h"

/* Names and programs are short. */
enum { LINE_BYTES = 8192 };

/* isod-session tells of questions: it must not fill the disk with them. */
static bool is_full(struct session *s)
{
	if (s->audit.size < (off_t)LIMIT_AUDIT_FILE)
		return false;
	s->audit.full++;
	return true;
}

void audit_asked(struct session *s, const struct question *q)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_BYTES);
	struct json_writer *w;

	if (is_full(s))
		return;
	w = audit_event_begin(s, &line, "asked");
	if (!w)
		return;
	json_write_member_integer(w, "question", q->number);
	json_write_member_string(w, "rule", q->rule);
	json_write_member_integer(w, "port", q->about.port);
	if (q->about.pid)
		json_write_member_integer(w, "pid", q->about.pid);
	if (q->about.program[0])
		json_write_member_string(w, "program", q->about.program);
	audit_event_end(s, w, &line);
}

void audit_answered(struct session *s, const struct question *q, const char *answer, const char *scope, uint32_t uid)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_BYTES);
	struct json_writer *w;

	/* What a person said is written in any case. */
	if (uid == UINT32_MAX && is_full(s))
		return;
	w = audit_event_begin(s, &line, "answered");
	if (!w)
		return;
	json_write_member_integer(w, "question", q->number);
	json_write_member_string(w, "rule", q->rule);
	json_write_member_string(w, "answer", answer);
	if (scope)
		json_write_member_string(w, "scope", scope);
	if (uid != UINT32_MAX)
		json_write_member_integer(w, "by", uid);
	audit_event_end(s, w, &line);
}
