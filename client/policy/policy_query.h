#ifndef ISOD_CLIENT_POLICY_QUERY_H
#define ISOD_CLIENT_POLICY_QUERY_H
/* What `policy test` and `policy explain` ask isod: PolicyTest about one path, in the working directory. */
#include "client/call.h"
#include "client/options.h"

/* typed: relative to the working directory; what of it is there is followed, and looked into where the answer depends
 * on it, as the user. The reply is call's. 0 or -errno with *e. */
int policy_query(const struct client *client, const struct option_list *policy, const char *typed, struct call *call,
		 struct error *e);

/* path without links, "." and "..", as far as it is there; the rest as it is. Heap memory. 0, -errno: "..", behind
 * something that is not there, -ENOMEM ... */
int policy_query_real(const char *path, char **ret);

/* One rule of the reply as a line: "deny-read **" "/.env  (sandbox..., built-in)". */
int policy_query_append_rule(struct buffer *out, const struct json_value *rule);

/* The rule that decides about writing (reading); NULL. */
const struct json_value *policy_query_decider(const struct json_value *rules, bool write);

#endif
