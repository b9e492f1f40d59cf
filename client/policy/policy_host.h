#ifndef ISOD_CLIENT_POLICY_HOST_H
#define ISOD_CLIENT_POLICY_HOST_H
/* What a merged policy says of a host: by the same decision that the gateway makes (policy/egress.h). */
#include "base/buffer.h"
#include "base/error.h"
#include "client/policy/policy_operand.h"
#include "json/value.h"
#include "json/write.h"
#include "policy/egress.h"

/* policy: as PolicyShow answers it. Without a port 443 and 80 are asked about. As lines for people. */
int policy_host_append(struct buffer *out, const struct json_value *policy, const struct policy_operand *host,
		       struct error *e);
/* Would a rule that allows text be one in name only? policy: as Show answers it. ret: the rule in its usual form. 0, or
 * -EACCES where a rule denies that very host, -EINVAL. */
int policy_host_check_grant(const struct json_value *policy, const char *text, char ret[EGRESS_RULE_TEXT_MAX],
			    struct error *e);
/* The same as one JSON object. */
int policy_host_write(struct json_writer *w, const struct json_value *policy, const struct policy_operand *host,
		      struct error *e);

#endif
