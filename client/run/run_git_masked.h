#ifndef ISOD_CLIENT_RUN_GIT_MASKED_H
#define ISOD_CLIENT_RUN_GIT_MASKED_H
/* Files that are committed and masked: git in the session finds them changed, and fails where it must read them. */
#include "client/run/run_git_rules.h"
#include "git/git_layout.h"
#include "policy/policy.h"

/* Looks for .env and its kin in the index of a project's work tree (docs/GIT.md) and adds one note about them. An index
 * of more than 8 MiB is not read: it would hold up the start. home: NULL where there is none. */
void run_git_masked_note(const struct git_layout *layout, const char *project, const char *home,
			 const struct policy *policy, struct run_git_rules *rules);

#endif
