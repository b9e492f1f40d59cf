#ifndef ISOD_CLIENT_PAGE_H
#define ISOD_CLIENT_PAGE_H
/* The facts as one HTML page that loads nothing and runs nothing: no script, no address, styles inline, and a policy
 * (CSP) of its own that says so to the browser. */
#include "client/report/facts.h"

/* At most: the lists are bounded, each text is a line of the log's. */
#define PAGE_MAX (256U << 20)

/* session, policy: of Show, or NULL. 0, -EMSGSIZE, -ENOMEM. */
int page_append(struct buffer *out, const struct facts *f, const struct json_value *session,
		const struct json_value *policy);

#endif
