#ifndef TEST_CONTROL_PLAN_CASE_H
#define TEST_CONTROL_PLAN_CASE_H
/* A request in a few words, and a plan as text. */
#include "base/buffer.h"
#include "daemon/control/plan/plan_build.h"

struct plan_case {
	const char *name; /* of the golden file; NULL ends a table */
	uint32_t uid;
	const char *user, *home; /* NULL: no entry in the user database */
	const char *cwd, *pwd;
	const char *administrator; /* text of the administrator's policy, NULL = none */
	const char *policy;        /* of a policy file */
	bool toolchains;           /* with the built-in tables: tool chains, caches, protections */
	struct schema_link links[4];
	struct schema_variable env[8];
	const char *named[4];
	bool terminal;
	int64_t umask;  /* 0: not named */
	bool split_usr; /* /bin and its like are real folders */
};

/* Builds it; 0 or -errno with *e. *ret is to be done by the caller in any case. */
int plan_case_build(const struct plan_case *t, struct plan_built *ret, struct error *e);
/* One line a mount, then the rest. */
void plan_case_dump(const struct plan_built *b, struct buffer *ret);

#endif
