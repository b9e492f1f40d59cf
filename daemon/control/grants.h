#ifndef ISOD_CONTROL_GRANTS_H
#define ISOD_CONTROL_GRANTS_H
/*
 * Hosts that the owner lets a running session reach beside its policy: the last layer of the merge, in memory only.
 * Every deny rule beats them.
 */
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"
#include "policy/egress.h"

struct connection;
struct session;

struct grant {
	char host[EGRESS_RULE_TEXT_MAX]; /* as egress_rule_format() writes it */
	uint64_t until;                  /* ms of the loop's clock; 0: the session's end */
};

struct grants {
	struct grant *items; /* LIMIT_GRANTS places, NULL while there are none */
	size_t count;
	uv_timer_t timer; /* the next one that ends */
};

void grants_done(struct grants *g);
/* The text of their policy layer, or nothing. 0 or -errno. */
int grants_write(const struct grants *g, struct buffer *ret);

/* Puts one more in force, or gives it a new end. seconds 0: none. 0: c is answered later. -errno with *e: as before. */
int grants_add(struct session *s, struct connection *c, const char *host, uint64_t seconds, struct error *e);
/* Takes one back. Likewise. */
int grants_remove(struct session *s, struct connection *c, const char *host, struct error *e);

#endif
