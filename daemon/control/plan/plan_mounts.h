#ifndef ISOD_CONTROL_PLAN_MOUNTS_H
#define ISOD_CONTROL_PLAN_MOUNTS_H
/* The file view of a plan, in the order in which isod-launch makes it. Pure. */
#include "daemon/control/plan/plan_build.h"

/* Fills built->mounts. *ret_links_made: every link of the request stands in the view. */
int plan_mounts_build(const struct plan_input *in, struct plan_built *built, bool *ret_links_made, struct error *e);

/* Appends one; its texts must live as long as the plan. */
int plan_mounts_add(struct plan_built *built, const struct plan_mount *m, struct error *e);

#endif
