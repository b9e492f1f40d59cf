#ifndef ISOD_CLIENT_DENIAL_H
#define ISOD_CLIENT_DENIAL_H
/* Lines of the audit log that say that something was refused. */
#include <stdbool.h>

#include "base/buffer.h"
#include "json/value.h"

bool denial_is_one(const struct json_value *event);
/* For people: when, who, what, and where it is about the network why and what to do. False in *ret_known: the event is
 * of another kind, nothing was appended. 0 or -errno. */
int denial_append(struct buffer *out, const struct json_value *event, bool *ret_known);

#endif
