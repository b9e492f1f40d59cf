#ifndef ISOD_SESSION_GATEWAY_PROXY_TLS_CLIENT_H
#define ISOD_SESSION_GATEWAY_PROXY_TLS_CLIENT_H
/* Whom the TLS client trusts and which name it asks for; the only place that says so. */
#include <openssl/ssl.h>

#include "daemon/session/gateway/proxy_tls.h"

/* TLS 1.2 or newer, the certificate verified. ca as in proxy_tls.h. 0, -EINVAL, -ENOMEM. */
int proxy_tls_client_context(const void *ca, size_t ca_len, SSL_CTX **ret);
/* One connection over fd, which stays the caller's: the certificate must be for the proxy's name or address. NULL:
 * there is no memory. */
SSL *proxy_tls_client_new(SSL_CTX *context, const struct egress_proxy *proxy, int fd);
/* What went wrong with the last call on ssl. */
struct proxy_tls_fault proxy_tls_client_fault(const SSL *ssl);

#endif
