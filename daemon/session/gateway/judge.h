#ifndef ISOD_SESSION_GATEWAY_JUDGE_H
#define ISOD_SESSION_GATEWAY_JUDGE_H
/* What the rules say of one connection's target. A rule that is for one connection only is had by the first it allows.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct connection;

/* c->target -> c->verdict. */
void judge_target(struct connection *c);
/* The same of one that is not let through whatever it says: a rule for one connection stays for another. */
void judge_look(struct connection *c);
/* May a ClientHello that names this server (NULL: none) go on to the target? EGRESS_ALLOWED, or why not. What it was
 * like is remembered. */
uint32_t judge_hello(struct connection *c, const char *name, size_t len, bool ech);
/* The same of the one that was let through, by the rules of now; EGRESS_ALLOWED where there was none. */
uint32_t judge_hello_again(const struct connection *c);
/* It is not c's any more; nobody else gets it. */
void judge_release(struct connection *c);

#endif
