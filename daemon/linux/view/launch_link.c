#include "daemon/linux/view/launch_link.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/linux/view/launch_lack.h"

struct linked {
	dev_t device;
	ino_t inode;
	uint64_t names;
	uint64_t protected;
	char *path; /* of the first */
};

/* A process has one session. */
static struct linked files[LAUNCH_LINKS];
static size_t n_files;
static size_t n_more;

void launch_link_add(const struct stat *st, const char *path)
{
	struct linked *f = files;

	if (!S_ISREG(st->st_mode) || st->st_nlink < 2)
		return;
	while (f < files + n_files && (f->inode != st->st_ino || f->device != st->st_dev))
		f++;
	if (f == files + LAUNCH_LINKS) {
		n_more++;
		return;
	}
	if (f == files + n_files) {
		*f = (struct linked){ .device = st->st_dev, .inode = st->st_ino, .path = strdup(path) };
		n_files++;
	}
	f->names = st->st_nlink;
	f->protected ++;
}

int launch_link_tell(const struct launch *l)
{
	size_t told = 0, more = n_more;
	int r = 0;

	for (struct linked *f = files; r == 0 && f < files + n_files; f++) {
		if (f->protected >= f->names)
			continue;
		if (f->path && told++ < LAUNCH_LINKS_TOLD)
			r = launch_lack_tell_links(l, 1, f->path);
		else
			more++;
	}
	return r == 0 && more > 0 ? launch_lack_tell_links(l, more, "") : r;
}
