#ifndef ISOD_CLIENT_REPORT_H
#define ISOD_CLIENT_REPORT_H
/* What isoctl says to people on stderr, once an error, and the exit codes that go with it. */
#include "base/error.h"

enum report_exit {
	EXIT_USAGE = 2,
	EXIT_BUSY = 123, /* attach: another client drives the session, or too many are attached */
	EXIT_TIME_LIMIT = 124,
	EXIT_ISOD = 125, /* isod or the sandbox failed */
	EXIT_CANNOT_EXECUTE = 126,
	EXIT_NOT_FOUND = 127,
};

/* "isoctl: STEP: MESSAGE" and "  remedy: ..."; control characters of the text are escaped. */
void report_error(const struct error *e);

/* The exit code of `run` for an error. */
int report_run_code(const struct error *e);

#endif
