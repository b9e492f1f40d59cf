#ifndef ISOD_CLIENT_POLICY_OPERAND_H
#define ISOD_CLIENT_POLICY_OPERAND_H
/* What somebody means who asks about a policy: a path, or a host with or without a port. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/hostname.h"

struct policy_operand {
	bool is_host;     /* else a path, and nothing below is set */
	bool may_be_host; /* a path that is there and could be a host's name as well */
	bool is_literal;
	uint8_t family; /* of the literal */
	uint8_t address[16];
	char host[HOSTNAME_MAX + 1]; /* canonical name, or the literal's usual form */
	uint16_t port;               /* 0: none was said */
};

/*
 * Paths begin with "/", "." or "~", or are there: a name with a dot or a port, too. Hosts: a URL, an address,
 * user@host:path as git writes it, else host:port and a name with a dot. Everything else is a path. URLs of no known
 * port, networks and wildcards are refused. 0 or -EINVAL.
 */
int policy_operand_read(const char *typed, struct policy_operand *ret, struct error *e);

#endif
