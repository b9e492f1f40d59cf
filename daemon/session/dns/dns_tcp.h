#ifndef ISOD_SESSION_DNS_TCP_H
#define ISOD_SESSION_DNS_TCP_H
/* DNS over TCP (RFC 7766): two bytes of length before each message, several may be under way. */
#include <uv.h>

struct dns;
struct dns_tcp;

/* Clients at once, both families together: one more takes the place of the one that has asked nothing for longest. And
 * milliseconds in which one must ask something. */
#define DNS_TCP_CLIENTS 64
#define DNS_TCP_IDLE 10000

/* Takes over two listening sockets. 0 or -errno. */
int dns_tcp_open(uv_loop_t *loop, struct dns *d, const int listeners[2], struct dns_tcp **ret);
/* Freed once all handles are closed. NULL is allowed. */
void dns_tcp_close(struct dns_tcp *t);

#endif
