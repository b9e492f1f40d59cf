#ifndef ISOD_CONTROL_RELOAD_H
#define ISOD_CONTROL_RELOAD_H
/*
 * The rules about the network of a session that runs are replaced: which texts hold from now on, the answer of its
 * helper, the reply to who asked.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "json/decode.h"
#include "policy/policy.h"
#include "proto/schema.h"

struct session;
struct connection;

/* While a session is live. Zero: nothing is kept. */
struct reload {
	struct schema_policy layers[LIMIT_POLICY_LAYERS]; /* the texts of its clients, in their order; heap memory */
	size_t n_layers;
	uint32_t generation;  /* of the rules that the helper has been sent */
	struct policy source; /* owns the texts of the rules once they were replaced */
	bool waits;           /* for the helper's answer, to be passed on to this connection */
	bool later;           /* something else has changed, too, for the next session */
	uint64_t connection;
};

/* Keeps the texts that a session starts with. 0 or -ENOMEM. */
int reload_keep(struct reload *r, const struct json_objects *texts);
void reload_done(struct reload *r);

/*
 * Merges anew: the administrator's file; of the owner (by_owner) the user layer as sent; the files as sent where there
 * are any; all else as it was. Sends the rules to the helper. 0: c is answered later. -errno with *e: all is as before.
 */
int reload_begin(struct session *s, struct connection *c, const struct json_objects *texts, struct error *e);
/* The helper says that they hold. 0, or -EBADMSG: nobody asked it. */
int reload_answered(struct session *s, uint32_t generation, uint32_t closed);
/* The helper will not answer any more. */
void reload_abandoned(struct session *s);

#endif
