#ifndef ISOD_SESSION_GATEWAY_TARGET_H
#define ISOD_SESSION_GATEWAY_TARGET_H
/* Where a connection wants to go, in the one form in which it is judged, compared, logged and dialled. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress.h"
#include "policy/hostname.h"

struct target {
	char name[HOSTNAME_MAX + 1]; /* canonical; of a literal its presentation form */
	bool is_literal;
	uint8_t family; /* of the literal */
	uint16_t port;
	uint8_t address[16];
};

/*
 * host, host:port, v4, v4:port, [v6], [v6]:port. default_port 0: the port must be there. 0, -EINVAL for a malformed
 * authority, -EDOM where its form is right but the host is neither a name nor an address in its usual spelling.
 */
int target_parse(const char *text, size_t len, uint16_t default_port, struct target *ret);
/* The host alone, bytes from anywhere. 0 or -EDOM. */
int target_from_host(const char *host, size_t len, uint16_t port, struct target *ret);
void target_from_address(int family, const uint8_t address[16], uint16_t port, struct target *ret);
int target_from_name(const char *canonical, uint16_t port, struct target *ret);
bool target_equal(const struct target *a, const struct target *b);

/* The value of a Host header: without the port where it is default_port. */
#define TARGET_AUTHORITY_MAX (HOSTNAME_MAX + 10)
void target_authority(const struct target *t, uint16_t default_port, char ret[TARGET_AUTHORITY_MAX]);

/* The same for the decision (policy/egress.h); points into t. */
struct egress_target target_for_egress(const struct target *t);
/* holds: as in struct egress_target. */
void target_decide(const struct target *t, const struct egress_rules *rules, uint32_t holds,
		   struct egress_verdict *ret);

#endif
