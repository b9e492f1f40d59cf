#ifndef ISOD_CONTROL_ENV_NAMES_H
#define ISOD_CONTROL_ENV_NAMES_H
/* The variables that somebody named: exact names, and patterns that end in '*'. Borrows the texts. */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "json/decode.h"
#include "policy/policy.h"

struct env_names {
	const char **exact; /* sorted */
	size_t n_exact;
	const char **patterns;
	size_t n_patterns;
};

#define ENV_NAMES_INIT                                                                                                 \
	{                                                                                                              \
		.exact = NULL                                                                                          \
	}

/* From the caller's names and the policy's environment.pass. A name that cannot be one is refused. */
int env_names_make(const struct json_strings *named, const struct policy_list *pass, struct env_names *ret,
		   struct error *e);
void env_names_done(struct env_names *n);
#define _cleanup_env_names_ __attribute__((cleanup(env_names_done)))

bool env_names_has_exact(const struct env_names *n, const char *name);
/* A variable that runs code in whoever inherits it (LD_PRELOAD, ...) is never matched by a pattern. */
bool env_names_has(const struct env_names *n, const char *name);

#endif
