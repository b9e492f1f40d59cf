#ifndef TESTS_INSIDE_ATTEMPT_H
#define TESTS_INSIDE_ATTEMPT_H
/* One thing that a program inside a session must not be able to do. Each runs in a process of its own. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

struct attempt {
	const char *name;
	/* NULL where it was refused; else what could be done. */
	const char *(*run)(void);
	bool may_die; /* a signal counts as a refusal too */
};

extern const struct attempt attempts_kernel[];
extern const struct attempt attempts_files[];
extern const struct attempt attempts_processes[];
extern const struct attempt attempts_network[];
extern const struct attempt attempts_paths[];
/* The name of an abstract socket on which the test listens outside. */
extern const char *attempt_host_socket;

/* Against one masked file, one locked file and one locked folder, relative to the working directory. */
extern const char *attempt_masked, *attempt_locked_file, *attempt_locked_folder;
extern const struct attempt attempts_masked[];
extern const struct attempt attempts_nested[];

/* True for a negative result: the call was refused, whatever the reason. */
#define REFUSED(call) ((call) < 0)
/* Refused with that very errno. */
#define REFUSED_WITH(error, call) (errno = 0, (call) < 0 && errno == (error))
/* An attempt that is one call, and no right to make it. */
#define ATTEMPT(name, call)                                                                                            \
	static const char *name(void)                                                                                  \
	{                                                                                                              \
		return REFUSED_WITH(EPERM, call) ? NULL : "not EPERM";                                                 \
	}

#endif
