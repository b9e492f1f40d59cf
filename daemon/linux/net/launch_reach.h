#ifndef ISOD_LINUX_LAUNCH_REACH_H
#define ISOD_LINUX_LAUNCH_REACH_H
/* Opening what a rule names where what lies around it is granted as well: who works there may have put a link. */
#include "daemon/launch/launch.h"

/*
 * As launch_caller_source(), for a source of the plan's mount m (path: its source, or the folder that a pattern begins
 * with). The folder of the rules that path lies in is reached as its owner says; below it no link is followed, since
 * links stand there in the view as they are and the program could have made them. Where there is one:
 *   -ENOENT       the link leads to what the rules grant at least as much: there is nothing to mount, it works inside;
 *                 or it leads nowhere; or a built-in rule names the path
 *   -EPERM        with *e: it leads elsewhere.
 * The descriptor (O_PATH) or -errno.
 */
int launch_reach(const struct launch *l, const struct plan_mount *m, const char *path, bool follow, struct error *e);

/* Step: the same for what rules of the user's allow and the plan mounts nothing for, since the folder around is granted
 * as well: nothing is started where such a path is a link that leads elsewhere. Needs launch_target_index(). */
int launch_reach_others(struct launch *l, struct error *e);

#endif
