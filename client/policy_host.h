#ifndef ISOD_CLIENT_POLICY_HOST_H
#define ISOD_CLIENT_POLICY_HOST_H
/* What a merged policy says of a host: by the same decision that the gateway makes (policy/egress.h). */
#include "base/buffer.h"
#include "base/error.h"
#include "client/policy_operand.h"
#include "json/value.h"
#include "json/write.h"

/* policy: as PolicyShow answers it. Without a port 443 and 80 are asked about. As lines for people. */
int policy_host_append(struct buffer *out, const struct json_value *policy, const struct policy_operand *host,
		       struct error *e);
/* The same as one JSON object. */
int policy_host_write(struct json_writer *w, const struct json_value *policy, const struct policy_operand *host,
		      struct error *e);

#endif
