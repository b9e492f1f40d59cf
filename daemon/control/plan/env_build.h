#ifndef ISOD_CONTROL_ENV_BUILD_H
#define ISOD_CONTROL_ENV_BUILD_H
/*
 * The environment of a session: what the client sent, filtered again by the allowlist; then what the policy sets; then
 * what the view decides (HOME, PWD, proxies, ...), each overriding the one before. Pure.
 */
#include "base/error.h"
#include "daemon/control/caller.h"
#include "daemon/control/string_list.h"
#include "json/decode.h"
#include "policy/policy.h"

/* More than any shell holds; each costs a look-up. */
#define ENV_VARIABLES_MAX 8192
/* Names with a trailing *: each is compared with every variable. */
#define ENV_PATTERNS_MAX 64

struct env_input {
	const struct caller *caller;
	const char *id;                   /* of the session */
	const char *pwd;                  /* the working directory as the view shows it to the user */
	const struct json_objects *env;   /* struct schema_variable, proto/schema.h */
	const struct json_strings *named; /* by ISO_ALLOW or --env */
	const struct policy *policy;
	bool ssh; /* the session has an ssh-agent */
};

/* Appends NAME=VALUE, sorted by name, to *env, and sentences for the banner to *notes. 0 or -errno with *e. */
int env_build(const struct env_input *in, struct string_list *env, struct string_list *notes, struct error *e);

#endif
