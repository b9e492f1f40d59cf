#ifndef ISOD_SESSION_GATEWAY_ANSWERS_H
#define ISOD_SESSION_GATEWAY_ANSWERS_H
/* What names were answered with, for as long as the answers may be kept; also that there was nothing. Raw: whoever
 * takes one judges its addresses anew. At most LIMIT_ANSWERS; the oldest makes room. */
#include <sys/queue.h>

#include "daemon/session/gateway/stub.h"

struct kept_answer;
struct answers {
	TAILQ_HEAD(kept_answers, kept_answer) kept; /* oldest first */
	unsigned n;
};

void answers_open(struct answers *a);
void answers_done(struct answers *a);
/* now: milliseconds, as uv_now(). Best effort. */
void answers_keep(struct answers *a, const char *name, const struct stub_answer *answer, uint64_t now);
/* NULL, or valid until the next call. */
const struct stub_answer *answers_find(struct answers *a, const char *name, uint64_t now);

#endif
