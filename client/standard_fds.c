#include "client/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int standard_fds_open(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* The lowest free number is this one. */
		if (open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
			return -EBADF;
	}
	return 0;
}

int standard_fds_finish(int code)
{
	bool failed = ferror(stdout);

	errno = EIO; /* of a write before this one nothing more is known */
	if (fflush(stdout) == 0 && !failed)
		return code;
	if (errno != EPIPE)
		fprintf(stderr, "isoctl: stdout: %s\n", strerror(errno));
	return code ? code : 1;
}
