#ifndef ISOD_POLICY_EGRESS_INDEX_H
#define ISOD_POLICY_EGRESS_INDEX_H
/* Look-up in the sorted index of struct egress_rules. Private to the decision. */
#include "policy/egress.h"

/* What the rules say about one target; EGRESS_NO_RULE where no rule says it. */
struct egress_match {
	uint32_t deny;  /* denies this port */
	uint32_t allow; /* allows this port */
	uint32_t once;  /* allows this port, to one connection */
	uint32_t other; /* allows the target on some other port */
	uint32_t holds; /* set before: egress_target.holds */
};

#define EGRESS_MATCH_INIT                                                                                              \
	{                                                                                                              \
		EGRESS_NO_RULE, EGRESS_NO_RULE, EGRESS_NO_RULE, EGRESS_NO_RULE, 0                                      \
	}

/* Called for each rule group of a name; non-zero ends the walk. first..end are positions in by_name that hold the rules
 * of one (name, kind), deny rules last. */
typedef int egress_group_fn(const struct egress_rules *r, uint32_t first, uint32_t end, void *data);

/* The groups that match a canonical name: the name itself, then "*." of each domain above it. */
int egress_index_walk(const struct egress_rules *r, const char *name, egress_group_fn *fn, void *data);

void egress_index_match_name(const struct egress_rules *r, const char *name, uint16_t port, struct egress_match *m);

/* address: unwrapped. named_only: allow rules count only where they lie inside a special range themselves. */
void egress_index_match_address(const struct egress_rules *r, int family, const uint8_t address[16], uint16_t port,
				bool named_only, struct egress_match *m);

#endif
