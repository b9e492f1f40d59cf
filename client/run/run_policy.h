#ifndef ISOD_CLIENT_RUN_POLICY_H
#define ISOD_CLIENT_RUN_POLICY_H
/* The options of `run` that are policy, as one JSON text of the layer "command-line". */
#include "base/buffer.h"
#include "base/error.h"
#include "client/run/run_options.h"

/* cwd: what relative paths are relative to, without symlinks. Appends the text; 1 where there is one, 0 where no option
 * says anything, -errno with *e filled (it names the option). */
int run_policy_write(const struct run_options *o, const char *cwd, struct buffer *out, struct error *e);

/* A path as typed -> a rule: absolute and "~/..." as they are, else "./..." below cwd, or absolute where ".." leads out
 * of it. Heap memory in *ret. */
int run_policy_path(const char *typed, const char *cwd, char **ret, struct error *e);

#endif
