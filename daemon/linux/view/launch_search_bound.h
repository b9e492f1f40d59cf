#ifndef ISOD_LINUX_LAUNCH_SEARCH_BOUND_H
#define ISOD_LINUX_LAUNCH_SEARCH_BOUND_H
/* What the search has not looked at (launch_search.h), and whether the session starts all the same. */
#include "daemon/launch/launch.h"

/* A folder was passed over, l->unsearched: is that the end already? 0, or -errno with *e. */
int launch_search_bound_skipped(const struct launch *l, struct error *e);
/* Things are moved all the time: some may not have been met. */
void launch_search_bound_moving(struct launch *l);
/* After the search. */
int launch_search_bound_found(const struct launch *l, struct error *e);
/* Step, once it is known whether opens are refused: nothing is started where they are not and something was not seen.
 */
int launch_search_bound_check(struct launch *l, struct error *e);

#endif
