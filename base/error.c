#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const code_names[] = {
	[ERROR_NONE] = "None",
	[ERROR_INTERNAL] = "Internal",
	[ERROR_INVALID] = "Invalid",
	[ERROR_REFUSED] = "Refused",
	[ERROR_POLICY] = "PolicyInvalid",
	[ERROR_SANDBOX_UNAVAILABLE] = "SandboxUnavailable",
	[ERROR_CANNOT_EXECUTE] = "CannotExecute",
	[ERROR_NOT_FOUND] = "CommandNotFound",
	[ERROR_NO_SUCH_SESSION] = "NoSuchSession",
	[ERROR_LIMIT] = "LimitExceeded",
};
_Static_assert(sizeof(code_names) / sizeof(code_names[0]) == ERROR_CODE_COUNT, "one name a code");

int error_set(struct error *e, enum error_code code, int err, const char *step, const char *remedy, const char *format,
	      ...)
{
	va_list ap;

	if (e && e->code == ERROR_NONE) {
		e->code = code;
		e->err = err;
		snprintf(e->step, sizeof(e->step), "%s", step ? step : "");
		snprintf(e->remedy, sizeof(e->remedy), "%s", remedy ? remedy : "");
		va_start(ap, format);
		vsnprintf(e->message, sizeof(e->message), format, ap);
		va_end(ap);
	}
	return err > 0 ? -err : -EINVAL;
}

const char *error_code_name(uint32_t code)
{
	return code < ERROR_CODE_COUNT ? code_names[code] : code_names[ERROR_INTERNAL];
}

enum error_code error_code_from_name(const char *name)
{
	for (unsigned i = 0; i < ERROR_CODE_COUNT; i++)
		if (strcmp(code_names[i], name) == 0)
			return i;
	return ERROR_CODE_COUNT;
}

void error_sanitise(struct error *e)
{
	if (e->code >= ERROR_CODE_COUNT)
		e->code = ERROR_INTERNAL;
	e->step[sizeof(e->step) - 1] = '\0';
	e->message[sizeof(e->message) - 1] = '\0';
	e->remedy[sizeof(e->remedy) - 1] = '\0';
}
