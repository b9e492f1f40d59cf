#include "daemon/wire/proxy_ca.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/wire/proxy_auth.h"

static int unusable(const char *name, int err, const char *remedy, const char *what, struct error *e)
{
	char step[ERROR_STEP_MAX];

	snprintf(step, sizeof(step), "upstreamProxy: %s", name);
	return error_set(e, ERROR_POLICY, err, step, remedy,
			 "The file with the certificates for the upstream proxy %s.", what);
}

static int check(int fd, const char *name, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return unusable(name, errno, NULL, "cannot be examined", e);
	if (!S_ISREG(st.st_mode))
		return unusable(name, EINVAL, "Make it a regular file.", "is no regular file", e);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return unusable(name, EPERM, "chown root, chmod 644.", "can be written by others than root", e);
	return 0;
}

int proxy_ca_read(int folder, const char *name, char **ret, size_t *ret_len, struct error *e)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	int r;

	if (!proxy_auth_name_is_valid(name))
		return unusable("caFile", EINVAL, NULL, "has a name that is none", e);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return unusable(name, errno, "It belongs beside the policy, mode 644, of root.",
				errno == ENOENT  ? "is not there"
				: errno == ELOOP ? "is a link"
						 : "cannot be opened",
				e);
	r = check(fd, name, e);
	if (r < 0)
		return r;
	r = fd_read_file(fd, LIMIT_PROXY_CA, &text, &len);
	if (r < 0)
		return unusable(name, -r, "It may have 1 MiB.", "cannot be read", e);
	/* No more is looked at here. */
	if (!strstr(text, "-----BEGIN CERTIFICATE-----") && !strstr(text, "-----BEGIN TRUSTED CERTIFICATE-----"))
		return unusable(name, EINVAL, "Write certificates in PEM into it.", "has none in it", e);
	*ret = take_ptr(text);
	*ret_len = len;
	return 0;
}
