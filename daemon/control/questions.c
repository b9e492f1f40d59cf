#include "daemon/control/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "json/write.h"
#include "policy/hostname.h"

/* Of the session's id, in that of a question: what people type. */
enum { ID_BEGIN = 6 };

static const char *const scopes[QUESTION_SCOPE_COUNT] = { "once", "session", "project", "always" };

void questions_done(struct questions *q)
{
	free(q->items);
	*q = (struct questions){ .items = NULL };
}

static bool is_terminated(const char *text, size_t size)
{
	return strnlen(text, size) < size;
}

static bool fits(const struct questions *all, const struct session_question *m, size_t n)
{
	char name[HOSTNAME_MAX + 1];

	return n == sizeof(*m) && m->number > all->last && m->via >= VIA_CONNECT && m->via < VIA_COUNT &&
	       m->port != 0 && is_terminated(m->name, sizeof(m->name)) &&
	       is_terminated(m->program, sizeof(m->program)) &&
	       hostname_canonical(m->name, strlen(m->name), name) == 0 && strcmp(m->name, name) == 0;
}

static void take_out(struct questions *all, struct question *q)
{
	size_t i = (size_t)(q - all->items);

	memmove(q, q + 1, (--all->count - i) * sizeof(*q));
}

int questions_on_asked(struct session *s, const struct session_question *m, size_t n)
{
	struct questions *all = &s->questions;
	struct question *q;

	if (!fits(all, m, n))
		return -EBADMSG;
	all->last = m->number;
	if (!all->items)
		all->items = calloc(LIMIT_QUESTIONS, sizeof(*all->items));
	/* Nobody can answer: it lapses there. */
	if (!all->items)
		return 0;
	/* That the oldest is over was lost on its way. */
	if (all->count == LIMIT_QUESTIONS) {
		audit_answered(s, &all->items[0], "none", NULL, UINT32_MAX);
		take_out(all, &all->items[0]);
	}
	q = &all->items[all->count++];
	*q = (struct question){ .number = m->number, .about = *m, .asked = timestamp_now() };
	if (m->port == 80 || m->port == 443)
		snprintf(q->rule, sizeof(q->rule), "%s", m->name);
	else
		snprintf(q->rule, sizeof(q->rule), "%s:%u", m->name, m->port);
	audit_asked(s, q);
	return 0;
}

int questions_on_over(struct session *s, uint32_t kind, uint32_t number)
{
	struct questions *all = &s->questions;

	/* An isod-control before this one may have been asked. */
	if (number == 0 || (kind != QUESTION_LAPSED && kind != QUESTION_MOOT))
		return -EBADMSG;
	for (size_t i = 0; i < all->count; i++) {
		if (all->items[i].number != number)
			continue;
		audit_answered(s, &all->items[i], kind == QUESTION_MOOT ? "rules" : "none", NULL, UINT32_MAX);
		take_out(all, &all->items[i]);
		return 0;
	}
	/* Answered meanwhile. */
	return 0;
}

static void write_id(const struct session *s, const struct question *q, struct json_writer *w)
{
	char id[ID_BEGIN + 16];

	snprintf(id, sizeof(id), "%.*s-%u", ID_BEGIN, s->id, q->number);
	json_write_member_string(w, "id", id);
}

void questions_write(const struct session *s, struct json_writer *w)
{
	char time[TIMESTAMP_SIZE];

	for (size_t i = 0; i < s->questions.count; i++) {
		const struct question *q = &s->questions.items[i];

		json_write_object(w);
		write_id(s, q, w);
		json_write_member_string(w, "session", s->id);
		json_write_member_string(w, "name", s->name);
		json_write_member_integer(w, "uid", s->uid);
		json_write_member_string(w, "host", q->rule);
		json_write_member_integer(w, "port", q->about.port);
		json_write_member_string(w, "program", q->about.program);
		json_write_member_integer(w, "pid", q->about.pid);
		json_write_member_string(w, "asked", timestamp_format(q->asked, time));
		json_write_member_string(w, "ends", timestamp_format(q->asked + LIMIT_QUESTION_MS, time));
		json_write_object_end(w);
	}
}

size_t questions_size(const struct session *s)
{
	return s->questions.count * (sizeof(struct question) + SESSION_LABEL_MAX + 512);
}

static struct question *find_number(struct session *s, uint32_t number)
{
	for (size_t i = 0; i < s->questions.count; i++)
		if (s->questions.items[i].number == number)
			return &s->questions.items[i];
	return NULL;
}

struct question *questions_find(struct connection *c, const char *id, struct session **ret_session, struct error *e)
{
	const char *dash = strrchr(id, '-');
	size_t begin = dash ? (size_t)(dash - id) : 0;
	struct question *found = NULL;
	uint64_t number = 0;
	struct session *s;

	if (begin > 0 && begin <= ISOD_ID_LEN && number_parse_u64(dash + 1, UINT32_MAX, &number) == 0) {
		LIST_FOREACH (s, &c->control->registry.live, entry) {
			struct question *q = registry_may_see(c->uid, s) && strncmp(s->id, id, begin) == 0
						     ? find_number(s, (uint32_t)number)
						     : NULL;

			if (q && found) {
				error_set(e, ERROR_INVALID, EEXIST, "question",
					  "Write the whole id of the session before the \"-\".",
					  "More than one question is called so.");
				return NULL;
			}
			if (!q)
				continue;
			found = q;
			*ret_session = s;
		}
	}
	if (!found)
		error_set(e, ERROR_REFUSED, ENOENT, "question", "isoctl pending lists those that wait.",
			  "No question of that id waits for an answer.");
	return found;
}

int questions_allow(struct session *s, struct question *q, struct connection *c, enum question_scope scope,
		    uint64_t seconds, struct error *e)
{
	const struct grant_terms terms = { .seconds = seconds, .once = scope == QUESTION_ONCE };
	struct question answered = *q;
	int r;

	/* The session's rules are being replaced: the reply to that comes first. */
	if (!reload_find(c, s->id, e))
		return -EBUSY;
	r = grants_add(s, c, q->rule, &terms, e);
	if (r < 0)
		return r;
	take_out(&s->questions, q);
	audit_answered(s, &answered, "yes", scopes[scope], c->uid);
	/* Behind the rules that allow it. Where it is lost, the question lapses. */
	session_link_answer(&s->link, answered.number, ANSWER_YES);
	return 0;
}

int questions_refuse(struct session *s, struct question *q, struct connection *c, struct error *e)
{
	int r = session_link_answer(&s->link, q->number, ANSWER_NO);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "question", "Try again.",
				 "The answer could not be sent to the session.");
	audit_answered(s, q, "no", NULL, c->uid);
	take_out(&s->questions, q);
	return 0;
}
