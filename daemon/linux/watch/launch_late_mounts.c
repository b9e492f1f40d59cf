#include "daemon/linux/watch/launch_late_mounts.h"

#include <string.h>

#include "view/path_pattern.h"

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
	/* Mostly one of the built-in protections, which are about all folders: thousands of paths need not be compared
	 * for each mount then. */
	for (uint32_t i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].effect == PATH_DENY_READ && strncmp(plan->rules[i].pattern, "/**/", 4) == 0)
			return true;
	for (uint32_t i = 0; i < plan->n_rules; i++)
		if (plan->rules[i].effect == PATH_DENY_READ && may_meet(plan->rules[i].pattern, folder))
			return true;
	return false;
}
