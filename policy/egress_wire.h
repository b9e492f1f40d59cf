#ifndef ISOD_POLICY_EGRESS_WIRE_H
#define ISOD_POLICY_EGRESS_WIRE_H
/* struct egress_rules <-> bytes: built by isod-control, read by isod-session. Versioned, bounded, fuzzed. */
#include "policy/egress.h"

#define EGRESS_WIRE_MAGIC 0x52474549u /* "IEGR" */
#define EGRESS_WIRE_VERSION 5

int egress_encode(const struct egress_rules *r, struct buffer *ret);
/* Copies; checks that every name is canonical. *ret is prepared; egress_rules_done() frees it. 0, -EBADMSG, -ENOMEM. */
int egress_decode(const void *data, size_t len, struct egress_rules *ret);

#endif
