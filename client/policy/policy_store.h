#ifndef ISOD_CLIENT_POLICY_STORE_H
#define ISOD_CLIENT_POLICY_STORE_H
/*
 * The policy files that isoctl itself writes to, as the user and after the user has seen what: the user's own, and one
 * for each project beside it, which counts as the user's too. Both lie where no session can write (view/protect.h:
 * "isod").
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Of the project at this real path: ~/.config/isod/projects/NAME-HASH.json. Heap memory; NULL: no home, no memory. */
char *policy_store_project_path(const char *project);

/*
 * Shows on stderr which of the rules the file lacks, asks on the terminal unless yes, and puts them in. project: what a
 * new file is for, NULL: all. 1: written, 0: all were there already, -ECANCELED: the user does not want it, -errno with
 * *e.
 */
int policy_store_allow(const char *file, const char *project, const char *const *rules, size_t n, bool yes,
		       struct error *e);

#endif
