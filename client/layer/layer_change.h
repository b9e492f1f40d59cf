#ifndef ISOD_CLIENT_LAYER_CHANGE_H
#define ISOD_CLIENT_LAYER_CHANGE_H
/* What a layer would make of the project, one entry a path. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/limits.h"

struct layer;

enum change_kind {
	CHANGE_DELETED, /* on the host, not in the session */
	CHANGE_MODE,    /* permission bits alone */
	CHANGE_NEW,
	CHANGE_CHANGED,  /* another content, or another target of a link */
	CHANGE_REPLACED, /* another type: a folder where a file was, a link where a folder was */
	CHANGE_SPECIAL,  /* fifo, socket, device: never applied */
	CHANGE_KIND_COUNT
};

enum change_flags {
	CHANGE_CONFLICT = 1 << 0,   /* the host's was changed since the session began */
	CHANGE_LEADS_OUT = 1 << 1,  /* a link that may lead out of the project */
	CHANGE_MOVED_AWAY = 1 << 2, /* DELETED: the source of a rename, which is one entry with .from */
	CHANGE_COPIED_UP = 1 << 3,  /* NEW: overlayfs took it from a file that was on the host */
	CHANGE_HOST_MOVED = 1 << 4, /* NEW: its folder on the host was changed since the session began */
	CHANGE_UNREADABLE = 1 << 5, /* SPECIAL: a file or folder that its owner may not read */
	CHANGE_SELECTED = 1 << 6,   /* apply: asked for */
	CHANGE_LEFT = 1 << 7,       /* apply: not done */
};

/* What identifies a file of the host, so that another one in its place is noticed. */
struct change_host {
	bool exists;
	mode_t mode; /* type and permissions */
	uint64_t device;
	uint64_t inode;
	int64_t size;
	int64_t mtime_ns;
};

struct change {
	char *path; /* relative to the project */
	/* NEW: renamed from there; DELETED and MOVED_AWAY: to there; else NULL. Owned by the entry of that path. */
	const char *other;
	enum change_kind kind;
	unsigned flags;
	uint32_t protection; /* enum protect_group that it belongs to; 0 = none */
	mode_t mode;         /* in the layer: type and permissions; 0 for DELETED */
	int64_t size;
	int64_t mtime_ns;
	struct change_host host;
};

struct changes {
	struct change *items;
	size_t count;
	size_t room;
	size_t seen; /* entries looked at, of both sides */
};

#define CHANGES_INIT                                                                                                   \
	{                                                                                                              \
		.items = NULL                                                                                          \
	}

void changes_done(struct changes *c);
#define _cleanup_changes_ __attribute__((cleanup(changes_done)))

/* The permission bits that are compared and applied: no set-uid, set-gid, sticky. */
#define CHANGE_MODE_BITS 0777

/*
 * Walks the layer, compares with the project and fills *ret in the order of the paths, renames found, protections
 * marked. 0; -E2BIG past LIMIT_LAYER_ENTRIES; -errno, with *e.
 */
int changes_find(const struct layer *l, struct changes *ret, struct error *e);

/* NULL on no memory, else a zeroed entry that owns path. Takes path in either case. */
struct change *changes_add(struct changes *c, char *path, enum change_kind kind);
/* In the order of the paths; NULL. */
struct change *changes_get(const struct changes *c, const char *path);

void change_host_fill(struct change_host *h, const struct stat *st);
/* st is what h was filled from, as far as renaming it leaves that. */
bool change_host_is(const struct change_host *h, const struct stat *st);

/* "new", "deleted", ... */
const char *change_kind_name(enum change_kind kind);

/* Parts of changes_find(). */
int layer_walk(const struct layer *l, struct changes *c, struct error *e);
/* Pairs deleted and new files of the same content; then new files that were taken from the host and are gone there. */
int layer_rename_find(const struct layer *l, struct changes *c);
/* Marks what belongs to a protection that is on by itself. 0 or -ENOMEM. */
int layer_protect_mark(const struct layer *l, struct changes *c);

/* Both are regular files of the same content. 1, 0, -errno. */
int layer_content_equal(int a, int b);

#endif
