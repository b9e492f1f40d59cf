#ifndef ISOD_CONTROL_POLICY_MERGE_H
#define ISOD_CONTROL_POLICY_MERGE_H
/* The layers of one request: the administrator's, read here at each call, then the texts that the client sent. */
#include "base/error.h"
#include "json/decode.h"
#include "policy/policy.h"

/*
 * texts: struct schema_policy. config_fd: the administrator's folder, or what is none: then there is no such layer. A
 * file of the administrator's that cannot be trusted or read refuses everything. policy_done() in any case.
 */
int policy_merge(int config_fd, const struct json_objects *texts, struct policy *ret, struct error *e);
/* The two halves of it. *ret: the administrator's text, the caller's to free, or NULL where there is none. */
int policy_merge_administrator(int config_fd, char **ret, struct error *e);
int policy_merge_texts(const char *administrator, const struct json_objects *texts, struct policy *ret,
		       struct error *e);

#endif
