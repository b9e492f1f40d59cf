#ifndef ISOD_LINUX_LAUNCH_MATCH_H
#define ISOD_LINUX_LAUNCH_MATCH_H
/* Steps of the outer process that turn patterns of the plan into sources. */
#include "daemon/launch/launch.h"

/* l->rules, for this and for pid 1. */
int launch_match_rules(struct launch *l, struct error *e);
/* l->matches: what the caller can open and the rules let be seen, parents first, symlinks and what the plan names
 * itself left out; bounded (base/limits.h). Opened O_PATH. Makes l->targets. */
int launch_match_find(struct launch *l, struct error *e);

#endif
