#ifndef ISOD_CONTROL_REGISTRY_H
#define ISOD_CONTROL_REGISTRY_H
/* All sessions, quotas per uid, and who may see which. Another uid's session does not exist for anybody but root. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"

struct session;
struct control;

/* Ended sessions of one uid that are kept in memory. Older ones stay in the audit folder and are found by id. */
#define REGISTRY_ENDED_PER_UID 200

LIST_HEAD(session_list, session);

struct registry {
	struct control *control;
	struct session_list live;  /* isod still holds something of it */
	struct session_list ended; /* newest first */
	bool history_read;
};

void registry_init(struct registry *r, struct control *control);
/* Releases every session. */
void registry_done(struct registry *r);

/* May uid start one more, under this name (NULL = none given)? 0, or -errno with *e. */
int registry_admit(struct registry *r, uint32_t uid, const char *name, struct error *e);

void registry_add(struct registry *r, struct session *s);    /* to the live ones */
void registry_retire(struct registry *r, struct session *s); /* from live to ended */
void registry_remove(struct registry *r, struct session *s); /* out of either */
/* Drops what is too old of this uid. */
void registry_trim(struct registry *r, uint32_t uid);
/* Reads the ended ones of earlier runs from the audit folder, once. */
void registry_read_history(struct registry *r);

/* A live one. */
struct session *registry_find_id(struct registry *r, const char *id);
/* By id or name, the newest of a name, among those that uid may see. NULL with *e (NoSuchSession). */
struct session *registry_find(struct registry *r, uint32_t uid, const char *text, struct error *e);

bool registry_may_see(uint32_t uid, const struct session *s);
unsigned registry_count_live(const struct registry *r, uint32_t uid);

/* [0-9a-f]{12} */
bool registry_id_is_valid(const char *text);
/* Letters, digits, '.', '_', '-'; does not begin with '.' or '-'; not the form of an id. */
bool registry_name_is_valid(const char *text);

#endif
