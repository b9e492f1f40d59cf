#ifndef ISOD_CONTROL_AUDIT_LINE_H
#define ISOD_CONTROL_AUDIT_LINE_H
/* How a connection stands in the audit log: the same for a session and for the gateway outside one. */
#include "daemon/wire/session_wire.h"
#include "json/write.h"
#include "policy/policy.h"

/* "connection", "dns.denied", "packet.refused" */
const char *audit_line_event(uint32_t type);
/* The members from "verdict" on. policy: whose rules m speaks of. */
void audit_line_write_connection(struct json_writer *w, const struct session_connection *m,
				 const struct policy *policy);
/* The members of "budget". account, direction: as of struct session_budget; policy: that it speaks of. */
void audit_line_write_budget(struct json_writer *w, uint32_t account, uint32_t direction, uint64_t limit,
			     const struct policy *policy);

#endif
