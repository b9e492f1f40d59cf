#ifndef ISOD_POLICY_DIGEST_H
#define ISOD_POLICY_DIGEST_H
#include "policy/policy.h"

/* SHA-256, in hex, of the merged values as JSON without origins: the same policy from other files has the same digest.
 * 0, -ENOMEM, -EIO. */
int policy_digest(const struct policy *p, char ret[65]);

/* policy_write.c. origins: {"value":..., "from":...} for each value, else the value alone. */
struct json_writer;
void policy_write_values(const struct policy *p, struct json_writer *w, bool origins);

#endif
