#ifndef ISOD_SESSION_GATEWAY_REFUSAL_H
#define ISOD_SESSION_GATEWAY_REFUSAL_H
/* No, said in the client's own protocol, with the reason that is also in the audit log. */
#include <stdbool.h>
#include <stdint.h>

struct connection;

/* Ends the audit event of the target with the reason, then answers by c->answer. To be returned by a step. */
bool refuse(struct connection *c, uint32_t reason);
/* The same with a status of its own (HTTP's, or a SOCKS reply) and a sentence in place of the reason's (NULL: that
 * one). Static text. */
bool refuse_with(struct connection *c, unsigned status, uint32_t reason, const char *message);

#endif
