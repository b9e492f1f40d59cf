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

/* What a policy was merged of. Heap memory. */
struct reload_texts {
	char *administrator;                              /* NULL: there was no file */
	struct schema_policy layers[LIMIT_POLICY_LAYERS]; /* the texts of its clients, in their order */
	size_t n_layers;
};

/* While a session is live. Zero: nothing is kept. */
struct reload {
	struct reload_texts texts; /* of the rules that hold */
	struct reload_texts first; /* of the start, once those are others: of what does not change while it runs */
	uint32_t generation;       /* of the rules that the helper has been sent */
	struct policy source;      /* owns the texts of the rules once they were replaced */
	uint32_t awaited;          /* the helper's answer to this one is passed on to .connection; 0: to none */
	bool later;                /* something else has changed, too, for the next session */
	uint64_t connection;
};

/* Keeps the texts that a session starts with. 0 or -ENOMEM. */
int reload_keep(struct reload_texts *t, const char *administrator, const struct json_objects *texts);
void reload_texts_done(struct reload_texts *t);
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
/*
 * Of a session that an earlier isod-control started: its policy is made of the texts once more, and in force once more
 * where it was reloaded. unlisted: enum egress_unlisted of then. 0 or -errno with *e: it is not as digest says.
 */
int reload_restore(struct session *s, uint32_t unlisted, const char *digest, struct error *e);
/* The helper says that they hold. 0, or -EBADMSG: it was sent no such ones. */
int reload_answered(struct session *s, uint32_t generation, uint32_t closed);
/* The helper will not answer any more. */
void reload_abandoned(struct session *s);

#endif
