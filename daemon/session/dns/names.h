#ifndef ISOD_SESSION_NAMES_H
#define ISOD_SESSION_NAMES_H
/* The addresses that the session's resolver invents: one IPv4 and one IPv6 address a name, for the session's life
 * (daemon/wire/netns.h has the ranges; their first address is the resolver's own). */
#include <stdbool.h>
#include <stdint.h>

struct names;

struct names *names_new(void);
void names_free(struct names *n);

/* The address of a canonical name, invented at the first call. 0, -ENOSPC past LIMIT_DNS_NAMES, -ENOMEM. */
int names_address(struct names *n, const char *name, int family, uint8_t ret[16]);
/* The name behind an address, or NULL. Valid as long as n. */
const char *names_lookup(const struct names *n, int family, const uint8_t address[16]);
/* True where the address lies in an invented range, known or not. */
bool names_is_invented(int family, const uint8_t address[16]);

#endif
