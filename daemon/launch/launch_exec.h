#ifndef ISOD_LAUNCH_EXEC_H
#define ISOD_LAUNCH_EXEC_H
/* Finding and starting the program: execvp's rules, with PATH taken from the program's environment, not from ours. */
#include "base/error.h"

/*
 * Execs argv in envp; returns only on failure, with *e filled: ERROR_NOT_FOUND where no such file exists,
 * ERROR_CANNOT_EXECUTE for everything else. -errno.
 */
int launch_exec(const char *const *argv, const char *const *envp, struct error *e);

/* The value of a variable in envp, or NULL. */
const char *launch_exec_variable(const char *const *envp, const char *name);

/* The exit status that a shell gives for such an error: 127, 126 or 125. */
int launch_exec_status(const struct error *e);

#endif
