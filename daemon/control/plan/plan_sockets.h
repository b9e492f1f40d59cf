#ifndef ISOD_CONTROL_PLAN_SOCKETS_H
#define ISOD_CONTROL_PLAN_SOCKETS_H
/* The Unix sockets of the host that a policy lends: which may be, and where they are in the view. Pure. */
#include "daemon/control/plan/plan_rules.h"

/* Adds a PLAN_MAKE_SOCKET for each. 0 or -errno with *e. */
int plan_sockets_build(const struct plan_input *in, const struct view_links *links, const struct plan_rules *rules,
		       struct plan_built *built, struct error *e);

#endif
