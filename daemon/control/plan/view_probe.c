#include "daemon/control/plan/view_probe.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void view_probe_read(struct view_probe *ret)
{
	static const char *const paths[VIEW_PROBE_ROOTS] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < VIEW_PROBE_ROOTS; i++) {
		char link[sizeof(ret->roots[i].link)];
		struct stat st;
		ssize_t n;

		ret->roots[i].path = paths[i];
		if (lstat(paths[i], &st) < 0)
			continue;
		n = S_ISLNK(st.st_mode) ? readlink(paths[i], link, sizeof(link)) : 0;
		/* A link too long to be one of the usual ones is not understood, and so not copied. */
		if (n < 0 || (size_t)n >= sizeof(link) || !(S_ISDIR(st.st_mode) || n > 0))
			continue;
		memcpy(ret->roots[i].link, link, (size_t)n);
		ret->roots[i].exists = true;
	}
}
