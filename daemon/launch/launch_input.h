#ifndef ISOD_LAUNCH_INPUT_H
#define ISOD_LAUNCH_INPUT_H
/* Steps of the outer process: the fixed descriptors of daemon/wire/fds.h are checked, read and isolated from whatever
 * else came along. */
#include "daemon/launch/launch.h"

/* Each fixed descriptor is of its kind; all are close-on-exec afterwards. */
int launch_input_descriptors(struct launch *l, struct error *e);
/* Maps l->context, and closes every descriptor that belongs to nothing. */
int launch_input_context(struct launch *l, struct error *e);
int launch_input_plan(struct launch *l, struct error *e);
/* Maps the seccomp filter. */
int launch_input_filter(struct launch *l, struct error *e);
/* That and the ruleset. */
int launch_input_filters(struct launch *l, struct error *e);
/* Enters the session's cgroups of v1 and closes their descriptors; that of v2 is pid 1's (launch_spawn_init). */
int launch_input_cgroups(struct launch *l, struct error *e);
/* Raises the soft limit of open files; the program gets that of the context. */
int launch_input_limits(struct launch *l, struct error *e);

#endif
