#ifndef ISOD_CLIENT_RUN_DIRECTORY_H
#define ISOD_CLIENT_RUN_DIRECTORY_H
/*
 * Where the command is to run: the working directory's real path, the way the user typed it, and the symlinks on that
 * way and on the way to HOME: both spellings of a path mean the same inside, to rules too.
 */
#include <stddef.h>

#include "base/error.h"

#define RUN_LINKS_MAX 40 /* as the kernel */

struct run_link {
	char *path; /* absolute, no symlink before its last component */
	char *target;
};

struct run_directory {
	char *cwd;
	char *pwd;                            /* NULL where it says nothing that cwd does not */
	struct run_link links[RUN_LINKS_MAX]; /* each path once */
	size_t n_links;
};

struct json_writer;

/* pwd: the variable PWD, believed only where it leads to the same directory; NULL. 0, or -errno with *e filled. */
int run_directory_find(const char *pwd, struct run_directory *ret, struct error *e);
/* home: as the user database says. Adds the links on the way, as far as it can be walked. */
void run_directory_add_home(const char *home, struct run_directory *d);
void run_directory_done(struct run_directory *d);

/* The symlinks met while walking path (absolute, without "." and ".."). 0, -ELOOP, -errno. */
int run_directory_walk(const char *path, struct run_directory *ret);

/* The members "cwd", "pwd" and "links" of the request. */
void run_directory_write(const struct run_directory *d, struct json_writer *w);

#endif
