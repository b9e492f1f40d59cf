#include "daemon/session/gateway/descriptor_reserve.h"

#include <stddef.h>
#include <sys/resource.h>

#include "base/limits.h"

bool descriptor_is_reserved(int fd)
{
	static rlim_t first; /* the limit of a process that gives up its rights stays */

	if (first == 0) {
		struct rlimit files = { .rlim_cur = RLIM_INFINITY };
		rlim_t quarter;

		(void)getrlimit(RLIMIT_NOFILE, &files);
		quarter = files.rlim_cur / 4;
		first = files.rlim_cur - (quarter < LIMIT_RESERVED_FILES ? quarter : LIMIT_RESERVED_FILES);
	}
	return (rlim_t)fd >= first;
}
