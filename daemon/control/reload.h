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
	uint32_t awaited;     /* the helper's answer to this one is passed on to .connection; 0: to none */
	bool later;           /* something else has changed, too, for the next session */
	uint64_t connection;
};

/* Keeps the texts that a session starts with. 0 or -ENOMEM. */
int reload_keep(struct reload *r, const struct json_objects *texts);
void reload_done(struct reload *r);

/* The session that c may change now, or NULL with *e. */
struct session *reload_find(struct connection *c, const char *text, struct error *e);
/*
 * Merges anew: the administrator's file, the texts, the grants. texts: as the
 * client sent them (the user layer counts where it is the owner, files where there are any); NULL: as they were. Sends
 * the rules to the helper. 0: c, which may be NULL, is answered once they hold, or after LIMIT_RELOAD_MS with an error.
 * -errno with *e: all is as before.
 */
int reload_apply(struct session *s, const struct json_objects *texts, struct connection *c, struct error *e);
/* The helper says that they hold. 0, or -EBADMSG: it was sent no such ones. */
int reload_answered(struct session *s, uint32_t generation, uint32_t closed);
/* The helper will not answer any more. */
void reload_abandoned(struct session *s);

#endif
