#include "daemon/linux/cgroup/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/number.h"

/* A list of 65536 numbers of seven digits fits. */
#define TEXT_MAX (512U << 10)

int cgroup_file_read(int dir, const char *name, char **ret)
{
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t len;

	return fd < 0 ? -errno : fd_read_file(fd, TEXT_MAX, ret, &len);
}

bool cgroup_file_has_word(const char *list, size_t len, const char *separators, const char *word)
{
	size_t n = strlen(word);

	while (len > 0) {
		size_t part = 0;

		while (part < len && !strchr(separators, list[part]))
			part++;
		if (part == n && memcmp(list, word, n) == 0)
			return true;
		part += part < len;
		list += part;
		len -= part;
	}
	return false;
}

int cgroup_file_write(int dir, const char *name, const char *format, ...)
{
	_cleanup_close_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
	char text[64];
	va_list ap;
	int n;

	if (fd < 0)
		return -errno;
	va_start(ap, format);
	n = vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(text))
		return -EINVAL;
	return write(fd, text, n) < 0 ? -errno : 0;
}

static int kill_listed(int dir)
{
	_cleanup_free_ char *text = NULL;
	char *rest, *line;
	int r = cgroup_file_read(dir, "cgroup.procs", &text);

	if (r < 0)
		return r;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		uint64_t pid;

		/* 0 stands for a process of another pid namespace: kill(0) would be our own group. */
		if (number_parse_u64(line, INT32_MAX, &pid) == 0 && pid > 1)
			kill((pid_t)pid, SIGKILL);
	}
	return 0;
}

int cgroup_file_kill_frozen(int dir)
{
	int r = cgroup_file_write(dir, "freezer.state", "FROZEN");
	int killed = kill_listed(dir);
	int thawed = cgroup_file_write(dir, "freezer.state", "THAWED");

	return r < 0 ? r : (killed < 0 ? killed : thawed);
}
