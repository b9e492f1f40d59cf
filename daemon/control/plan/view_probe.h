#ifndef ISOD_CONTROL_VIEW_PROBE_H
#define ISOD_CONTROL_VIEW_PROBE_H
/* How this machine lays out its system folders: on most, /bin, /sbin and /lib* are links into /usr. */
#include <stdbool.h>

#define VIEW_PROBE_ROOTS 6

struct view_probe {
	struct {
		const char *path;
		char link[64]; /* content of the symlink, "" = a real folder */
		bool exists;
	} roots[VIEW_PROBE_ROOTS];
};

/* Reads it once; never fails: what cannot be read does not exist in the view. */
void view_probe_read(struct view_probe *ret);

#endif
