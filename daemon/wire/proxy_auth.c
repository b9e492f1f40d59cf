#include "daemon/wire/proxy_auth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"

bool proxy_auth_name_is_valid(const char *name)
{
	size_t len = strnlen(name, PROXY_AUTH_NAME_MAX + 1);

	return len > 0 && len <= PROXY_AUTH_NAME_MAX && name[0] != '.' && !memchr(name, '/', len);
}

static int unusable(const char *name, int err, const char *remedy, const char *what, struct error *e)
{
	char step[ERROR_STEP_MAX];

	snprintf(step, sizeof(step), "upstreamProxy: %s", name);
	return error_set(e, ERROR_POLICY, err, step, remedy, "The file with the upstream proxy's password %s.", what);
}

static int check(int fd, const char *name, struct error *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return unusable(name, errno, NULL, "cannot be examined", e);
	if (!S_ISREG(st.st_mode))
		return unusable(name, EINVAL, "Make it a regular file.", "is no regular file", e);
	if (st.st_uid != 0 || (st.st_mode & 077))
		return unusable(name, EPERM, "chown root, chmod 600.", "can be read or written by others than root", e);
	return 0;
}

/* Visible ASCII and blanks with a colon behind the user: all of it is to stand in one header. */
static bool is_line(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			return false;
	return colon && colon > line;
}

int proxy_auth_read(int folder, const char *name, char ret[LIMIT_PROXY_AUTH + 1], struct error *e)
{
	/* A line that is as long as may be, its end, and one byte that shows that there is more. */
	char bytes[LIMIT_PROXY_AUTH + 3];
	_cleanup_close_ int fd = -1;
	ssize_t n;
	int r;

	if (!proxy_auth_name_is_valid(name))
		return unusable("authFile", EINVAL, NULL, "has a name that is none", e);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return unusable(name, errno,
				"It belongs beside the policy, mode 600, of root: one line \"user:password\".",
				errno == ENOENT  ? "is not there"
				: errno == ELOOP ? "is a link"
						 : "cannot be opened",
				e);
	r = check(fd, name, e);
	if (r < 0)
		return r;
	n = fd_read_full(fd, bytes, sizeof(bytes));
	if (n > 0 && bytes[n - 1] == '\n')
		n--;
	if (n > 0 && bytes[n - 1] == '\r')
		n--;
	if (n <= 0 || n > LIMIT_PROXY_AUTH || !is_line(bytes, (size_t)n)) {
		explicit_bzero(bytes, sizeof(bytes));
		return unusable(name, EINVAL, "Write one line \"user:password\" into it.",
				"does not hold one line of that form", e);
	}
	memcpy(ret, bytes, (size_t)n);
	ret[n] = '\0';
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

int proxy_auth_value(const char *line, size_t len, char ret[PROXY_AUTH_VALUE_MAX])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = ret + snprintf(ret, PROXY_AUTH_VALUE_MAX, "Basic ");

	if (len == 0 || len > LIMIT_PROXY_AUTH || !is_line(line, len))
		return -EINVAL;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t group = (uint32_t)(uint8_t)line[i] << 16;

		if (left > 1)
			group |= (uint32_t)(uint8_t)line[i + 1] << 8;
		if (left > 2)
			group |= (uint8_t)line[i + 2];
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[group & 63] : '=';
	}
	*to = '\0';
	return 0;
}
