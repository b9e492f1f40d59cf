#ifndef ISOD_TEST_GATEWAY_RIG_LIMITS_H
#define ISOD_TEST_GATEWAY_RIG_LIMITS_H
/* The rig's budgets, limits of connections and clock: none of the first two until they are changed. */
#include <uv.h>

#include "gateway_rig.h"

struct gateway;
/* Called by the rig. */
void rig_limits_start(uv_loop_t *loop, struct gateway *g, struct egress_rules *rules);
void rig_limits_stop(void);

/* What a reload brings, and how many ms a connection may idle (0: as it is). Whoever it closes is counted. In force
 * when it returns; the budgets and the rules of tls must stay where they are. */
struct rig_change {
	struct egress_limits limits;
	struct egress_budget *budgets;
	uint32_t n_budgets;
	uint64_t idle;
	uint64_t question; /* how many ms an answer of the owner may take; 0: as it is */
	struct egress_tls tls;
};
unsigned rig_change(const struct rig_change *change);
/* Moves the clock of rates, which stands still otherwise. */
void rig_tick(uint64_t ns);
/* The last account that was told to be exceeded, and how many were. */
struct rig_exceeded {
	unsigned count;
	uint32_t account, direction;
	uint64_t limit;
};
struct rig_exceeded rig_exceeded(void);
struct session_usage rig_usage(void);
/* The last one that was told. */
struct session_question rig_question(void);

#endif
