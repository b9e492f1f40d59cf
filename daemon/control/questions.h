#ifndef ISOD_CONTROL_QUESTIONS_H
#define ISOD_CONTROL_QUESTIONS_H
/*
 * What a running session asks its owner (onUnlisted: ask): may it reach a host that no rule names? Its helper holds the
 * connections and says when it waits no longer; an answer of yes is a grant. Only who may see a session answers for it,
 * over isod's socket, which no session's view has.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "daemon/wire/session_wire.h"
#include "policy/egress.h"

struct connection;
struct json_writer;
struct session;

struct question {
	uint32_t number;
	char rule[EGRESS_RULE_TEXT_MAX]; /* that would allow it */
	struct session_question about;
	int64_t asked; /* timestamp.h */
};

struct questions {
	struct question *items; /* LIMIT_QUESTIONS places, NULL while there were none */
	size_t count;
	uint32_t last;
};

/* How an answer of yes is meant. The last two are written down by the client, and hold for the session here. */
enum question_scope { QUESTION_ONCE, QUESTION_SESSION, QUESTION_PROJECT, QUESTION_ALWAYS, QUESTION_SCOPE_COUNT };

void questions_done(struct questions *q);
/* From isod-session. 0, or -EBADMSG: no helper of ours says that. */
int questions_on_asked(struct session *s, const struct session_question *m, size_t n);
int questions_on_over(struct session *s, uint32_t kind, uint32_t number);
/* All that wait, as items of an array. */
void questions_write(const struct session *s, struct json_writer *w);
size_t questions_size(const struct session *s);

/* id: SESSION-NUMBER, where SESSION may be the beginning of a session's id. NULL with *e. */
struct question *questions_find(struct connection *c, const char *id, struct session **ret_session, struct error *e);
/* q is gone afterwards. 0: c is answered later, by reload_answered(); -errno with *e: it waits on. */
int questions_allow(struct session *s, struct question *q, struct connection *c, enum question_scope scope,
		    uint64_t seconds, struct error *e);
int questions_refuse(struct session *s, struct question *q, struct connection *c, struct error *e);

#endif
