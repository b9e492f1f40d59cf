#ifndef ISOD_CLIENT_RUN_ENVIRONMENT_H
#define ISOD_CLIENT_RUN_ENVIRONMENT_H
/*
 * Layer 0 on the client's side: which variables leave this shell at all. Those that pass unasked, those named by --env,
 * ISO_ALLOW, CLAUDE_ISO_ALLOW, and those that a policy passes. The daemon filters again.
 */
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "client/options.h"
#include "policy/policy.h"

struct run_variable {
	char *name;
	const char *value; /* in the environment or in argv */
};

struct run_environment {
	struct run_variable *variables;
	size_t n_variables;
	char **named; /* each once, set or not */
	size_t n_named;
	struct buffer notes; /* sentences for the banner, each ends in NUL */
};

#define RUN_ENVIRONMENT_INIT                                                                                           \
	{                                                                                                              \
		.notes = BUFFER_INIT(65536)                                                                            \
	}

struct json_writer;

/* environment: as environ. named: values of --env. pass: environment.pass of the policy files; NULL.
 * 0, or -EINVAL with *e filled (it says which name is wrong). */
int run_environment_select(char *const *environment, const struct option_list *named, const struct policy_list *pass,
			   struct run_environment *ret, struct error *e);
void run_environment_done(struct run_environment *r);

/* The members "env" and "named" of the request. */
void run_environment_write(const struct run_environment *r, struct json_writer *w);

#endif
