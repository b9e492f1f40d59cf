#ifndef ISOD_SESSION_GATEWAY_ASK_H
#define ISOD_SESSION_GATEWAY_ASK_H
/*
 * Hosts that no rule names, where the policy says ask: connections to one are held while the session's owner is asked,
 * a bounded number for a bounded time. One question a host at a time; all its connections wait for the same answer.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "daemon/session/gateway/deadline.h"

struct connection;
struct gateway;
struct question;

TAILQ_HEAD(question_list, question);

struct asking {
	struct question_list questions; /* the oldest first; also those that were answered no */
	unsigned n_open;                /* without an answer */
	unsigned n_refused;
	unsigned n_held; /* connections */
	uint32_t last;   /* number of the newest question */
};

void ask_open(struct gateway *g);
void ask_close(struct gateway *g);

/* c->verdict says no: refuses c, or, where the owner is to be asked, holds it. again: the step that judges it anew once
 * there is an answer. Returns as a step does. */
bool ask_or_refuse(struct connection *c, bool (*again)(struct connection *c));
/* Was the owner asked for c's target and said no? */
bool ask_was_refused(const struct connection *c);
/* The step of one that is held. */
bool held_step(struct connection *c);
/* c waits no longer, if it did. */
void ask_release(struct connection *c);

/* What is held and may go on, or is refused by a rule, does so. */
void ask_rules_changed(struct gateway *g);

#endif
