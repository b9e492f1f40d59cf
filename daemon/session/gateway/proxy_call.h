#ifndef ISOD_SESSION_GATEWAY_PROXY_CALL_H
#define ISOD_SESSION_GATEWAY_PROXY_CALL_H
/* CONNECT to the upstream proxy, for a connection that it takes (policy/egress_proxy.h). */
#include <stdbool.h>

struct connection;

/* Does the connection to .target go through the upstream proxy? */
bool proxy_call_takes(const struct connection *c);
/* .upstream is connected to the proxy: asks it for .target, then goes on with .connected. Failures are answered here.
 */
bool proxy_call_begin(struct connection *c);

#endif
