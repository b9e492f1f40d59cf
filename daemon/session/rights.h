#ifndef ISOD_SESSION_RIGHTS_H
#define ISOD_SESSION_RIGHTS_H
/* What isod-session gives up before it looks at the first byte that somebody else wrote. */
#include <linux/filter.h>
#include <stddef.h>

#include "base/error.h"
#include "daemon/wire/context.h"

struct rights {
	const struct session_context *context;
	const struct sock_filter *filter;
	size_t filter_len; /* instructions */
};

/*
 * In stages, each verified; .step of the error names the one that failed, and the process must end then: it may be
 * half-way. Needs root, or to have the ids of the context already (tests).
 */
int rights_drop(const struct rights *rights, struct error *e);

#endif
