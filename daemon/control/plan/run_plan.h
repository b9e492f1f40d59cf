#ifndef ISOD_CONTROL_RUN_PLAN_H
#define ISOD_CONTROL_RUN_PLAN_H
/* The smaller parts of method_run(). */
#include "base/error.h"
#include "daemon/wire/plan.h"
#include "policy/egress_proxy.h"
#include "proto/schema.h"

struct session;

/* Both in their wire form, in sealed memory files for isod. 0 or -errno with *e. */
int run_plan_seal(const struct plan *plan, const struct egress_rules *egress, int *ret_plan, int *ret_egress,
		  struct error *e);
int run_plan_seal_egress(const struct egress_rules *egress, int *ret, struct error *e);
int run_plan_seal_proxy(const struct egress_proxy *proxy, int *ret, struct error *e);
/* The name that was given, or one made of the program's. */
void run_plan_name(struct session *s, const struct run_parameters *p);

#endif
