#ifndef ISOD_LINUX_LAUNCH_FOLDER_H
#define ISOD_LINUX_LAUNCH_FOLDER_H
/*
 * Folders of the view that are still to be looked through. One is known by its file handle where its file system has
 * such (name_to_handle_at(2)), so that it is found wherever it, or a folder above it, is moved meanwhile; where
 * something is mounted by its descriptor; else by path.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/launch/launch.h"
#include "daemon/linux/view/launch_moves.h"
#include "view/path_rules.h"

struct launch_folder {
	struct launch_folder *next;
	size_t size; /* of all this, in bytes */
	enum path_access access;
	bool by_link;               /* a symlink that stands for a folder (.git) */
	int fd;                     /* the folder itself; -1 = not open */
	int mount;                  /* descriptor in the mount of the handle (launch_moves.h owns it); -1 = none */
	struct file_handle *handle; /* NULL: none */
	char path[];                /* in the view, as it was when it was found */
};

struct launch_folder_queue {
	struct launch_folder *first;
	struct launch_folder **last;
	size_t bytes; /* of those that wait */
};

void launch_folder_queue_init(struct launch_folder_queue *q);
/* Takes f over. One that is open comes first, so that few are at a time. */
void launch_folder_put(struct launch_folder_queue *q, struct launch_folder *f);
/* NULL: there is none. */
struct launch_folder *launch_folder_take(struct launch_folder_queue *q);
void launch_folder_free(struct launch_folder *f);

/* at: descriptor of the folder in which it lies under the last name of path; -1, and for a link: by path alone.
 * moves may be NULL. NULL: no memory. */
struct launch_folder *launch_folder_new(const struct launch *l, const struct launch_moves *moves, int at,
					const char *path, enum path_access access, bool by_link);

/* A descriptor to read the folder with, or -errno; -ESTALE: it is no more. Takes f->fd. */
int launch_folder_open(const struct launch *l, struct launch_folder *f);

#endif
