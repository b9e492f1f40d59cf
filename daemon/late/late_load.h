#ifndef ISOD_LATE_LOAD_H
#define ISOD_LATE_LOAD_H
/* Loads the kernel's side of the late guard and attaches it for good. */
#include "base/error.h"

struct late_loaded {
	int sessions; /* the map */
	int events;   /* the ring buffer */
	int folders;  /* the iterator */
};

/*
 * The attachments are pinned in the folder pins (below a bpffs), which is emptied before: they outlive this process and
 * isod, until the folder is emptied. 0, or -errno with *e.
 */
int late_load(const char *pins, struct late_loaded *ret, struct error *e);

#endif
