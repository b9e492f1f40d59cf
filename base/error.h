#ifndef ISOD_BASE_ERROR_H
#define ISOD_BASE_ERROR_H
/*
 * The one error object that reaches a user. It is filled at the place that knows, once, and printed once by isoctl.
 * Functions return -errno; where they also take a struct error they fill it before they return, and they do not log.
 * Fixed size and without pointers, so that it can cross a process border as it is.
 */
#include <stdbool.h>
#include <stdint.h>

/* What went wrong, as a class; the name is the last part of the Varlink error (org.isod.<Name>). */
enum error_code {
	ERROR_NONE = 0,
	ERROR_INTERNAL,            /* a defect of ours */
	ERROR_INVALID,             /* the request cannot be meant */
	ERROR_REFUSED,             /* understood, and not permitted */
	ERROR_POLICY,              /* a policy file is wrong; .step holds file:line: key */
	ERROR_SANDBOX_UNAVAILABLE, /* this machine cannot give what was promised; nothing was started */
	ERROR_CANNOT_EXECUTE,      /* found, but exec failed: exit 126 */
	ERROR_NOT_FOUND,           /* the command does not exist in the view: exit 127 */
	ERROR_NO_SUCH_SESSION,
	ERROR_LIMIT, /* a quota or a size bound */
	ERROR_CODE_COUNT
};

#define ERROR_STEP_MAX 96
#define ERROR_MESSAGE_MAX 512
#define ERROR_REMEDY_MAX 512

struct error {
	uint32_t code; /* enum error_code */
	int32_t err;   /* positive errno, or 0 */
	char step[ERROR_STEP_MAX];
	char message[ERROR_MESSAGE_MAX]; /* one full sentence */
	char remedy[ERROR_REMEDY_MAX];   /* what to do; may be empty */
};

#define ERROR_INIT                                                                                                     \
	{                                                                                                              \
		.code = ERROR_NONE                                                                                     \
	}

/*
 * Fills *e (NULL is allowed) unless it is filled already: the first, deepest report wins. Cut on overflow.
 * Returns -err, or -EINVAL where err is 0, so that `return error_set(...)` reads well.
 */
int error_set(struct error *e, enum error_code code, int err, const char *step, const char *remedy, const char *format,
	      ...) __attribute__((format(printf, 6, 7)));

/* The code's name as in the interface text ("SandboxUnavailable"). Never NULL. */
const char *error_code_name(uint32_t code);

/* ERROR_CODE_COUNT where the name is unknown. */
enum error_code error_code_from_name(const char *name);

/* After reading one from another process: terminates the strings, maps an unknown code to ERROR_INTERNAL. */
void error_sanitise(struct error *e);

#endif
