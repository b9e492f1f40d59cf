#include "daemon/linux/launch_mountinfo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/fd.h"

/* LIMIT_PLAN_MOUNTS lines of a few hundred bytes, and room for long paths. */
#define MOUNTINFO_MAX (32U << 20)

/* The kernel writes blank, tab, newline and backslash as three octal digits. In place. */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (text[0] == '\\' && isdigit((unsigned char)text[1]) && isdigit((unsigned char)text[2]) &&
		    isdigit((unsigned char)text[3])) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* One line: "id parent major:minor root mount-point options [tags] - type source options". */
static int parse(char *line, struct launch_mountinfo *ret)
{
	unsigned major_number, minor_number;
	char *dash = strstr(line, " - "), *type, *path, *options, *save = NULL;

	if (!dash || sscanf(line, "%" SCNu64 " %*u %u:%u", &ret->id, &major_number, &minor_number) != 3)
		return -EBADMSG;
	*dash = '\0';
	type = dash + 3;
	type[strcspn(type, " ")] = '\0';
	strtok_r(line, " ", &save);
	for (int i = 0; i < 3; i++)
		strtok_r(NULL, " ", &save);
	path = strtok_r(NULL, " ", &save);
	options = strtok_r(NULL, " ", &save);
	if (!path || !options)
		return -EBADMSG;
	unescape(path);
	ret->device = makedev(major_number, minor_number);
	ret->path = path;
	ret->type = type;
	ret->read_only = strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
	return 0;
}

int launch_mountinfo_each(struct launch *l,
			  int (*fn)(struct launch *l, const struct launch_mountinfo *m, struct error *e),
			  struct error *e)
{
	_cleanup_close_ int fd = openat(l->proc_fd, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	char *line, *save = NULL;
	size_t len;
	int r = fd < 0 ? -errno : fd_read_file(fd, MOUNTINFO_MAX, &text, &len);

	for (line = r < 0 ? NULL : strtok_r(text, "\n", &save); line && r == 0; line = strtok_r(NULL, "\n", &save)) {
		struct launch_mountinfo m;

		r = parse(line, &m);
		if (r == 0)
			r = fn(l, &m, e);
	}
	return r;
}
