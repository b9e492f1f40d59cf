#ifndef ISOD_SESSION_GATEWAY_JUDGE_H
#define ISOD_SESSION_GATEWAY_JUDGE_H
/* What the rules say of one connection's target. A rule that is for one connection only is had by the first it allows.
 */

struct connection;

/* c->target -> c->verdict. */
void judge_target(struct connection *c);
/* It is not c's any more; nobody else gets it. */
void judge_release(struct connection *c);

#endif
