#ifndef ISOD_SESSION_GATEWAY_STUB_H
#define ISOD_SESSION_GATEWAY_STUB_H
/*
 * Asks the host's name servers for addresses, and /etc/hosts: a stub resolver, as getaddrinfo(3) is one, without its
 * threads and with the time that an answer may be kept. Wherever nsswitch.conf(5) names more than these two,
 * stub_serves() says that it is for getaddrinfo().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/limits.h"

struct stub_answer {
	uint32_t seconds; /* that it may be kept, as its records say; 0: not at all */
	uint32_t n;       /* 0: the name has no address, or none could be found out */
	struct {
		uint8_t family;
		uint8_t address[16];
	} addresses[LIMIT_ANSWER_ADDRESSES];
};

struct stub;
typedef void (*stub_fn)(void *data, const struct stub_answer *answer);

/* NULL without memory. */
struct stub *stub_new(uv_loop_t *loop);
/* Every open question is answered with nothing first, from within. NULL is allowed. */
void stub_close(struct stub *s);

/* family: AF_UNSPEC for both. fn is called once, from the loop. The name is asked as it stands, without search domains.
 * 0, -ENOBUFS where LIMIT_LOOKUPS are open, or -errno. */
int stub_ask(struct stub *s, const char *name, int family, stub_fn fn, void *data);

/* By the text of nsswitch.conf: are hosts files and DNS all that knows this name? */
bool stub_serves(const char *nsswitch, size_t len, const char *name);
/* By the text of resolv.conf: are all servers written in a way that the library reads? */
bool stub_reads(const char *resolv_conf, size_t len);

#endif
