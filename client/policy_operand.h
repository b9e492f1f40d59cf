#ifndef ISOD_CLIENT_POLICY_OPERAND_H
#define ISOD_CLIENT_POLICY_OPERAND_H
/* What somebody means who asks about a policy: a path, or a host with or without a port. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/hostname.h"

struct policy_operand {
	bool is_host; /* else a path, and nothing below is set */
	bool is_literal;
	uint8_t family; /* of the literal */
	uint8_t address[16];
	char host[HOSTNAME_MAX + 1]; /* canonical name, or the literal's usual form */
	uint16_t port;               /* 0: none was said */
};

/*
 * Paths begin with "/", "." or "~". Hosts: a URL, host:port, an address, user@host:path as git writes it, a name with a
 * dot. Everything else is a path. A name with a dot that is also a file here is refused, with both ways to say it; so
 * are URLs of no known port, networks and wildcards. 0 or -EINVAL.
 */
int policy_operand_read(const char *typed, struct policy_operand *ret, struct error *e);

#endif
