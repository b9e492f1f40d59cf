#include "client/standard_fds.h"

#include <errno.h>
#include <fcntl.h>
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
