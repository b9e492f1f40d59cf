#include "daemon/linux/view/launch_mountinfo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/view/launch_place.h"
#include "daemon/linux/launch/launch_sys.h"

/* LIMIT_PLAN_MOUNTS lines of a few hundred bytes, and room for long paths. */
#define MOUNTINFO_MAX (32U << 20)
/* Somebody who renames folders in a loop is met by as many tries. */
#define TRIES 1024

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

static int read_list(const struct launch *l, char **ret_text, struct launch_mountinfo_list *ret)
{
	_cleanup_close_ int fd = openat(l->proc_fd, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *line, *save = NULL;
	size_t len, room = 1;
	int r;

	if (fd < 0)
		return -errno;
	r = fd_read_file(fd, MOUNTINFO_MAX, ret_text, &len);
	if (r < 0)
		return r;
	for (const char *at = *ret_text; (at = strchr(at, '\n')); at++)
		room++;
	ret->items = calloc(room, sizeof(*ret->items));
	if (!ret->items)
		return -ENOMEM;
	for (line = strtok_r(*ret_text, "\n", &save); line && r == 0; line = strtok_r(NULL, "\n", &save))
		r = parse(line, &ret->items[ret->n++]);
	return r;
}

static int each_once(struct launch *l,
		     int (*fn)(struct launch *, const struct launch_mountinfo_list *, const struct launch_mountinfo *,
			       struct error *),
		     struct error *e)
{
	_cleanup_free_ char *text = NULL;
	struct launch_mountinfo_list list = { 0 };
	int r = read_list(l, &text, &list);

	for (size_t i = 0; i < list.n && r == 0; i++)
		r = fn(l, &list, &list.items[i], e);
	free(list.items);
	return r;
}

int launch_mountinfo_each(struct launch *l,
			  int (*fn)(struct launch *l, const struct launch_mountinfo_list *list,
				    const struct launch_mountinfo *m, struct error *e),
			  struct error *e)
{
	int r = -EAGAIN;

	for (int i = 0; i < TRIES && r == -EAGAIN; i++)
		r = each_once(l, fn, e);
	if (r == -EAGAIN)
		return launch_step_fail(e, EAGAIN, "Look for the program on the host that does so.",
					"Folders of the sandbox are renamed all the time.");
	return r;
}

/* What the path leads to, or, where there is nothing, the deepest folder above. */
static int open_deepest(const struct launch *l, const char *path, bool *ret_whole)
{
	char way[LIMIT_PATH];
	size_t len = strlen(path);

	if (len >= sizeof(way))
		return -ENAMETOOLONG;
	memcpy(way, path, len + 1);
	for (*ret_whole = true;; *ret_whole = false) {
		int fd = launch_caller_open(l->context, AT_FDCWD, way, O_PATH | O_NOFOLLOW | O_CLOEXEC,
					    RESOLVE_NO_SYMLINKS);

		if (fd >= 0 || (fd != -ENOENT && fd != -ENOTDIR) || len <= 1)
			return fd;
		while (len > 1 && way[len - 1] != '/')
			len--;
		len -= len > 1;
		way[len] = '\0';
	}
}

static const struct launch_mountinfo *find(const struct launch_mountinfo_list *list, uint64_t id)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].id == id)
			return &list->items[i];
	return NULL;
}

int launch_mountinfo_open(const struct launch *l, const struct launch_mountinfo_list *list,
			  const struct launch_mountinfo *m)
{
	const struct launch_mountinfo *over;
	_cleanup_close_ int fd = -1;
	struct stat st;
	bool whole;
	uint64_t id;
	int r;

	fd = open_deepest(l, m->path, &whole);
	if (fd < 0)
		return fd == -ELOOP ? -EAGAIN : fd;
	r = launch_place_mount_id(fd, &id);
	if (r < 0 || fstat(fd, &st) < 0)
		return r < 0 ? r : -errno;
	if (whole && id == m->id)
		return take_fd(&fd);
	/* What the session itself has put there stays. */
	if (st.st_dev == l->covers_device || launch_place_is_own(l, fd))
		return -ENOENT;
	over = whole ? find(list, id) : NULL;
	return over && strcmp(over->path, m->path) == 0 ? -ENOENT : -EAGAIN;
}
