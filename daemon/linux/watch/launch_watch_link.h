#ifndef ISOD_LINUX_LAUNCH_WATCH_LINK_H
#define ISOD_LINUX_LAUNCH_WATCH_LINK_H
/*
 * Secret files that appeared while the session runs, by their inodes, so that a second name of one (link(2)) is known
 * for what it is. Nothing is opened; without secrets nothing is asked, either.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The oldest makes room. */
#define LAUNCH_WATCH_LINKS 256

struct launch_watch_link {
	uint64_t device, inode;
	char *path; /* NULL: free */
};

struct launch_watch_links {
	size_t n; /* ever remembered */
	struct launch_watch_link items[LAUNCH_WATCH_LINKS];
};

/* There is a secret file at path. Returns how many names it has, 0 where it is none or gone. */
unsigned launch_watch_link_add(struct launch_watch_links *l, const char *path);
/* It is no longer there, under any name. */
void launch_watch_link_remove(struct launch_watch_links *l, const char *path);
/* The path of the secret that the file at path is another name of, or NULL. */
const char *launch_watch_link_find(const struct launch_watch_links *l, const char *path);

#endif
