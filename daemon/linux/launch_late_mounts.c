#include "daemon/linux/launch_late_mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "view/path_pattern.h"

/* Some hundred bytes a mount, for the largest plan with a mount a rule. */
#define MOUNTINFO_MAX (16U << 20)

/* Component by component, until one of them ends or the pattern begins to stand for many. A literal "**" ends the
 * comparison as any wildcard does: what comes after it can be anywhere. */
static bool may_meet(const char *pattern, const char *folder)
{
	const char *p = pattern + 1, *f = folder + 1;

	while (*p && *f) {
		size_t n = strcspn(p, "/"), m = strcspn(f, "/");

		if (n == 2 && memcmp(p, "**", 2) == 0)
			return true;
		if (!path_pattern_match_name(p, n, f, m))
			return false;
		p += n + (p[n] == '/');
		f += m + (f[m] == '/');
	}
	return true;
}

bool launch_late_mounts_concern(const struct plan *plan, const char *folder)
{
	for (uint32_t i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].effect == PATH_DENY_READ && may_meet(plan->rules[i].pattern, folder))
			return true;
	return false;
}

static bool is_at_or_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n == 1)
		return true;
	return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool launch_late_mounts_granted(const struct plan *plan, const char *point)
{
	for (uint32_t i = 0; i < plan->n_mounts; i++) {
		const struct plan_mount *m = &plan->mounts[i];

		if (!(m->flags & (PLAN_GRANT | PLAN_PROJECT)))
			continue;
		if (m->type == PLAN_MOUNT_MATCHES ? path_pattern_depth(m->source, point) > 0
						  : is_at_or_below(point, m->target))
			return true;
	}
	return false;
}

/* "\040" and the like, as the kernel writes blanks, tabs, line feeds and backslashes. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] && text[2] && text[3]) {
			*to++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

/* The fifth field: "id parent major:minor root mount-point ...". */
static char *mount_point(char *line)
{
	char *save = NULL, *field = strtok_r(line, " ", &save);

	for (int i = 0; i < 4 && field; i++)
		field = strtok_r(NULL, " ", &save);
	if (field)
		unescape(field);
	return field;
}

int launch_late_mounts_each(int proc, const struct plan *plan, int (*fn)(void *data, const char *point), void *data)
{
	_cleanup_close_ int fd = openat(proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	char *line, *save = NULL;
	size_t len;
	int r;

	if (fd < 0)
		return -errno;
	r = fd_read_file(fd, MOUNTINFO_MAX, &text, &len);
	if (r < 0)
		return r;
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *point = mount_point(line);

		if (!point)
			return -EBADMSG;
		if (!launch_late_mounts_granted(plan, point) || !launch_late_mounts_concern(plan, point))
			continue;
		r = fn(data, point);
		if (r < 0)
			return r;
	}
	return 0;
}
