#ifndef ISOD_CLIENT_POLICY_TLS_H
#define ISOD_CLIENT_POLICY_TLS_H
/* What a merged policy asks of a ClientHello to a host: by the same decision that the gateway makes
 * (policy/egress_tls.h). tls: sandbox.network.tls as PolicyShow answers it, or NULL. */
#include "base/buffer.h"
#include "client/policy/policy_operand.h"
#include "json/value.h"
#include "json/write.h"

/* A line for each thing that is not as it is by itself. */
int policy_tls_append(struct buffer *out, const struct json_value *tls, const struct policy_operand *host,
		      uint16_t port);
/* The same as one JSON object. */
void policy_tls_write(struct json_writer *w, const struct json_value *tls, const struct policy_operand *host,
		      uint16_t port);

#endif
