#ifndef ISOD_CONTROL_USAGE_H
#define ISOD_CONTROL_USAGE_H
/* How much of its byte budgets a session has used, as its helper tells: at most a second old. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/wire/session_wire.h"
#include "json/write.h"

struct session;

/* Is a message of n bytes whole, and about rules that s has or had? */
bool usage_is_valid(const struct session *s, const struct session_usage *m, size_t n);
bool usage_budget_is_valid(const struct session *s, const struct session_budget *m, size_t n);
/* Keeps it, where it is about the rules of now. 0 or -ENOMEM. */
int usage_keep(struct session *s, const struct session_usage *m);
/* The rules were replaced: what is kept goes by other numbers. */
void usage_forget(struct session *s);
/* An array of Budget: the session, then each entry of network.budget.hosts. */
void usage_write(const struct session *s, struct json_writer *w);

#endif
