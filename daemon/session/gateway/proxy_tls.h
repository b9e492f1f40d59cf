#ifndef ISOD_SESSION_GATEWAY_PROXY_TLS_H
#define ISOD_SESSION_GATEWAY_PROXY_TLS_H
/*
 * TLS to an upstream proxy of https://. The gateway stays as it is: a connection has a stream socket, whose other end
 * is a pump's, and the pump has the socket to the proxy. Not in every program that has a gateway: isod-session and
 * isod-session-ssh do without libssl, isod-session-tls and isod-gateway have it.
 */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/session/gateway/deadline.h"
#include "daemon/session/gateway/poller.h"
#include "policy/egress_proxy.h"

struct proxy_tls_service;
struct proxy_tls_pump;

/* Whom to trust and what to ask for; the rest is the service's. */
struct proxy_tls {
	const struct proxy_tls_service *service;
};

/* Why there is no TLS, in two parts of one sentence; NULL: nothing is wrong. Both live for ever. */
struct proxy_tls_fault {
	const char *what;
	const char *why;
};

struct proxy_tls_service {
	/* Once rights are given up. ca: PEM, whom alone to trust; NULL: whom this system trusts. Copies. 0, -EINVAL:
	 * there is no certificate in ca, -ENOMEM. */
	int (*open)(const struct egress_proxy *proxy, const void *ca, size_t ca_len, struct proxy_tls **ret);
	/* user is connected to the proxy: that socket becomes the pump's, user the end of a new one, which it watches
	 * with fn as before. 0, or -errno: user is closed. The end that is not the proxy's own word has user->cut. */
	int (*wrap)(struct proxy_tls *t, struct poller *p, struct deadlines *d, struct watch *user, watch_fn fn,
		    struct proxy_tls_pump **ret);
	struct proxy_tls_fault (*fault)(const struct proxy_tls_pump *p);
	/* user was closed, or is not watched any more. What it has sent is still brought to the proxy, and then the
	 * pump frees itself; so it does after 30 s in which none was sent. */
	void (*leave)(struct proxy_tls_pump *p);
	/* Has the proxy's kernel all that users have sent? */
	bool (*is_delivered)(const struct proxy_tls *t);
	/* Ends every pump that was left, and forgets t. Users have left. */
	void (*close)(struct proxy_tls *t);
};

/* NULL in isod-session and isod-session-ssh. */
extern const struct proxy_tls_service *const proxy_tls_service;

#endif
