#ifndef ISOD_SESSION_GATEWAY_EXCHANGE_H
#define ISOD_SESSION_GATEWAY_EXCHANGE_H
/* One HTTP request that was allowed, and its response. The next request is not looked at before this one is over. */
#include "daemon/session/gateway/http_facts.h"

struct connection;

/*
 * The request in the first head_len bytes of c->in is for c->target: sends it there in origin form, over the upstream
 * connection at hand or a new one. host: what the Host header shall say, NULL for the target itself. A step.
 */
bool exchange_begin(struct connection *c, const struct http_head *head, const struct http_facts *facts,
		    struct http_slice path, const struct http_slice *host, size_t head_len);

#endif
