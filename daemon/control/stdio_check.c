#include "daemon/control/stdio_check.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "base/fd.h"

int stdio_check(const int *fds, size_t n, struct error *e)
{
	static const char *const names[] = { "stdin", "stdout", "stderr", "output", "output" };
	static const char remedy[] = "Give a pipe and copy the data, as isoctl does.";

	for (size_t i = 0; i < n && i < ARRAY_SIZE(names); i++) {
		if (fcntl(fds[i], F_GETFL) < 0)
			return error_set(e, ERROR_REFUSED, errno, names[i], remedy, "%s cannot be examined.", names[i]);
		if (!fd_is_plain_stream(fds[i]))
			return error_set(e, ERROR_REFUSED, EPERM, names[i], remedy,
					 "%s is neither a pipe nor /dev/null: the program could open more through it.",
					 names[i]);
	}
	return 0;
}
