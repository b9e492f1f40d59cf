#ifndef ISOD_LAUNCH_STEP_H
#define ISOD_LAUNCH_STEP_H
/* A stage of the launcher is a table of named steps, walked in order until one fails. */
#include <stddef.h>

#include "base/error.h"

struct launch;

struct launch_step {
	const char *name;                                   /* what the user sees where it fails */
	int (*run)(struct launch *launch, struct error *e); /* 0 or -errno */
};

/* Runs them in order. On failure *e holds the step's name, errno, one full sentence and a remedy, also where the
 * step itself has filled in nothing. 0 or -errno. */
int launch_step_run(const struct launch_step *steps, size_t n, struct launch *launch, struct error *e);

/*
 * The sandbox cannot be made as promised: ERROR_SANDBOX_UNAVAILABLE, err positive. The step's name is added by the
 * walker. Returns -err.
 */
#define launch_step_fail(e, err, remedy, ...)                                                                          \
	error_set((e), ERROR_SANDBOX_UNAVAILABLE, (err), NULL, (remedy), __VA_ARGS__)

#endif
