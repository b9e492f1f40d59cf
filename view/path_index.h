#ifndef ISOD_VIEW_PATH_INDEX_H
#define ISOD_VIEW_PATH_INDEX_H
/*
 * Which of many patterns match a path or a leading part of it. Plain paths are found by binary search, patterns with a
 * plain last part by that part, the others are tried after a look at the first and last byte. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct path_index_entry {
	const char *pattern; /* borrowed */
	uint32_t id;         /* the caller's */
	uint32_t class;      /* of two entries of one plain path and one class, only that of the lowest id is kept */
};

struct path_index;

/* Bytes that are compared. Once done has reached bound, path_index_find() finds no more. */
struct path_work {
	uint64_t done;
	uint64_t bound;
};

/* 0, -ENOMEM, -EINVAL where a pattern is not absolute and clean, or has too many parts. work: borrowed, may be that of
 * several indexes. */
int path_index_new(const struct path_index_entry *entries, size_t n, struct path_work *work, struct path_index **ret);
struct path_index *path_index_free(struct path_index *x);

/* depth: how many parts of the path the pattern matches. whole: all of them. */
typedef void path_index_fn(uint32_t id, unsigned depth, bool whole, void *context);

/* For every entry and every leading part of path (clean, absolute, the path itself too) that its pattern matches. */
void path_index_find(const struct path_index *x, const char *path, path_index_fn *fn, void *context);

/* One leading part of a path: up to end, its last part from name on. */
struct path_part {
	const char *path;
	const char *name;
	const char *end;
	unsigned depth;
	bool whole;            /* nothing follows */
	const uint64_t *every; /* path_index_every() of the folder it is in; NULL: not asked */
	uint32_t hash;         /* of the name: by it most of them are seen to be in no entry */
};

/* From one part to the next, beginning with { .path = path, .end = path }; false: there was none left. */
bool path_index_next(struct path_part *p);
/* For every entry whose pattern matches exactly this part. */
void path_index_find_part(const struct path_index *x, const struct path_part *p, path_index_fn *fn, void *context);
/* Of the first PATH_EVERY patterns that end in a "*", those that match whatever is in the folder: one bit each. */
#define PATH_EVERY 64
uint64_t path_index_every(const struct path_index *x, const char *folder);
/* Some plain path of the index lies below it. */
bool path_index_has_below(const struct path_index *x, const struct path_part *p);

#endif
