#ifndef ISOD_CONTROL_GRANTS_H
#define ISOD_CONTROL_GRANTS_H
/*
 * Hosts that the owner lets a running session reach beside its policy: the last layer of the merge, in memory only.
 * Every deny rule beats them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"
#include "policy/egress.h"

struct connection;
struct json_writer;
struct policy;
struct session;

struct grant {
	char host[EGRESS_RULE_TEXT_MAX]; /* as egress_rule_format() writes it */
	uint64_t until;                  /* ms of the loop's clock; 0: the session's end */
	uint32_t once;                   /* not 0: for one connection, and its number; never given twice */
	bool used;                       /* that connection is open */
};

struct grants {
	struct grant *items; /* LIMIT_GRANTS places, NULL while there are none */
	size_t count;
	uint32_t last_once;
	uv_timer_t timer; /* the next one that ends */
};

/* What a new grant is to be. */
struct grant_terms {
	uint64_t seconds; /* until it ends by itself; 0: with the session */
	bool once;
};

void grants_done(struct grants *g);
/* The session runs on with grants that an earlier isod-control gave. */
void grants_begin(struct session *s);
/* The text of their policy layer, or nothing. 0 or -errno. */
int grants_write(const struct grants *g, struct buffer *ret);

/* Tells the rules that are made of that text, which come last of those that allow, which of them are for one
 * connection. 0 or -ENOMEM. */
int grants_mark(const struct grants *g, struct policy *policy);

/* Puts one more in force, or on new terms. 0: c is answered later. -errno with *e: as before. */
int grants_add(struct session *s, struct connection *c, const char *host, const struct grant_terms *terms,
	       struct error *e);
/* Takes one back. Likewise. */
int grants_remove(struct session *s, struct connection *c, const char *host, struct error *e);
/* The session says so. kind: enum session_once. 0, or -EBADMSG: no such number was ever given. */
int grants_on_once(struct session *s, uint32_t kind, uint32_t number);

/* Member of a session: grants. And a bound for its bytes. */
void grants_write_list(const struct session *s, struct json_writer *w);
size_t grants_list_size(const struct grants *g);

#endif
