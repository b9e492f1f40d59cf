#ifndef ISOD_LINUX_LAUNCH_CASELESS_H
#define ISOD_LINUX_LAUNCH_CASELESS_H
/*
 * Granted folders in which names that differ in case alone are the same. The folders themselves are looked at: one
 * without case somewhere below, in one with it, is not seen.
 */
#include "daemon/launch/launch.h"

/* Step, root, when the view is mounted: where there is one, the rules of the session are compared without case
 * (view/path_fold.h) and l->caseless is its path. */
int launch_caseless_find(struct launch *l, struct error *e);

enum launch_caseless_answer { LAUNCH_CASELESS_NO, LAUNCH_CASELESS_YES, LAUNCH_CASELESS_UNKNOWN };

/* By trying: the first name in the folder that has a letter, written the other way. Unknown where there is none.
 * -EPERM: not even isod may ask for its flags. */
int launch_caseless_folder(int fd);
/* What is not known counts as caseless on a file system of this type (statfs(2)). */
bool launch_caseless_type(uint64_t magic);

#endif
