#ifndef ISOD_GIT_GIT_INDEX_H
#define ISOD_GIT_GIT_INDEX_H
/* The names in a repository's index: which files are committed, or will be. Foreign bytes: read in place, nothing
 * allocated. Versions 2 to 4, of repositories that use SHA-1; the checksum is not looked at. */
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct git_index {
	const unsigned char *at, *end;
	uint32_t left; /* entries */
	uint32_t version;
	/* The entry: */
	size_t len;
	bool is_skipped;     /* skip-worktree: git does not look at the file */
	char name[PATH_MAX]; /* below the work tree; a folder of a sparse index ends in a slash */
};

/* data must stay. 0, -EBADMSG. */
int git_index_begin(struct git_index *i, const void *data, size_t len);
/* 1: an entry; 0: there are no more; -EBADMSG. */
int git_index_next(struct git_index *i);

#endif
