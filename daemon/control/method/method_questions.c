/* Pending and Answer: what sessions ask their owners. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/questions.h"
#include "daemon/control/session.h"
#include "json/write.h"
#include "proto/schema.h"

int method_pending(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct session *s;
	struct json_writer *w;
	size_t more = 0;

	w = connection_reply_begin(c, false);
	if (w) {
		json_write_key(w, "questions");
		json_write_array(w);
		LIST_FOREACH (s, &c->control->registry.live, entry) {
			if (!registry_may_see(c->uid, s))
				continue;
			if (more > 0 || !connection_reply_has_room(c, questions_size(s)))
				more += s->questions.count;
			else
				questions_write(s, w);
		}
		json_write_array_end(w);
		json_write_member_integer(w, "more", (int64_t)more);
	}
	connection_reply_end(c, w);
	return 0;
}

static int read_scope(const char *text, enum question_scope *ret, struct error *e)
{
	static const char *const names[QUESTION_SCOPE_COUNT] = { "once", "session", "project", "always" };

	*ret = QUESTION_SESSION;
	for (size_t i = 0; text && i < ARRAY_SIZE(names); i++) {
		*ret = (enum question_scope)i;
		if (strcmp(text, names[i]) == 0)
			return 0;
	}
	return text ? error_set(e, ERROR_INVALID, EINVAL, "scope", NULL,
				"The scope is once, session, project or always.")
		    : 0;
}

int method_answer(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct answer_parameters *p = parameters;
	enum question_scope scope;
	struct session *s = NULL;
	struct question *q = read_scope(p->scope, &scope, e) < 0 ? NULL : questions_find(c, p->question, &s, e);
	struct json_writer *w;
	int r;

	if (!q)
		return -EINVAL;
	if (p->allow)
		return questions_allow(s, q, c, scope, (uint64_t)p->seconds, e);
	r = questions_refuse(s, q, c, e);
	if (r < 0)
		return r;
	w = connection_reply_begin(c, false);
	if (w) {
		json_write_member_string(w, "session", s->id);
		json_write_member_string(w, "digest", s->digest);
		json_write_member_integer(w, "closed", 0);
		json_write_member_bool(w, "later", false);
	}
	connection_reply_end(c, w);
	return 0;
}
