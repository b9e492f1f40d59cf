/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef ISOD_LINUX_LATE_CLIMB_H
#define ISOD_LINUX_LATE_CLIMB_H
/*
 * A part of late_hooks.bpf.c: whether a path is in a granted folder, and in which.
 */
#include "daemon/linux/late/late_walk.h"

#define MAGIC_OVERLAY 0x794c7630

struct climb {
	struct late_record *record;
	__u64 at;
	__u32 level;
	__u32 found; /* index of the root, NOWHERE = none */
	__u32 ended; /* at the top of its file system */
	__u32 reserved;
};

/* From a path up to what its mount shows. */
struct way_out {
	__u64 at;
	__u64 top; /* the mount's uppermost folder */
	__u64 out; /* the way ended elsewhere */
};

static long leave_one(__u32 level, void *data)
{
	struct way_out *w = data;
	struct dentry *d = (struct dentry *)w->at;
	__u64 up = (__u64)BPF_CORE_READ(d, d_parent);

	if (w->at == w->top)
		return 1;
	/* What is its own parent at once has no folder: a pipe, a memfd. */
	w->out = up == w->at && level > 0;
	if (up == w->at)
		return 1;
	w->at = up;
	return 0;
}

/* The host has moved d, or a folder above it, to where this mount does not lead; a task that was in it is there still.
 * What it was granted as is no longer above it, so all rules hold at all depths. */
static __noinline bool is_moved_out(struct vfsmount *mount, struct dentry *d)
{
	struct way_out w = { .at = (__u64)d, .top = (__u64)BPF_CORE_READ(mount, mnt_root) };

	bpf_loop(LATE_LEVELS, leave_one, &w, 0);
	return w.out;
}

static long climb_one(__u32 level, void *data)
{
	struct climb *c = data;
	struct dentry *d = (struct dentry *)c->at;
	__u64 inode = (__u64)BPF_CORE_READ(d, d_inode);
	__u64 up = (__u64)BPF_CORE_READ(d, d_parent);
	__u64 found = 0; /* index + 1 */

	for (__u32 i = 0; i < LATE_ROOTS; i++)
		found |= (i + 1) & if_zero(c->record->roots[i].inode ^ inode);
	c->level = level;
	if (inode != 0 && found != 0) {
		c->found = found - 1;
		return 1;
	}
	if (up == c->at) {
		c->ended = 1;
		return 1;
	}
	c->at = up;
	return 0;
}

/* An overlay that the program has made in a user namespace of its own: before 6.8 the file of a layer is opened under
 * the overlay's name, and the granted folder is not above that. Such a place counts as granted. */
static __always_inline bool is_made_inside(struct dentry *d)
{
	return BPF_CORE_READ(d, d_sb, s_magic) == MAGIC_OVERLAY && BPF_CORE_READ(d, d_sb, s_user_ns, level) > 0;
}

/* Which rules hold where d is. False: none, it is in no granted folder. The mount is NULL where it is not known. */
static __always_inline bool find_root(struct walk *w, struct dentry *d, struct vfsmount *mount)
{
	struct climb c = { .record = w->record, .at = (__u64)d, .found = NOWHERE };

	bpf_loop(LATE_LEVELS, climb_one, &c, 0);
	w->limit = LATE_LEVELS;
	w->any = w->direct = ~0ULL;
	if (c.found < LATE_ROOTS) {
		w->limit = c.level;
		w->any = w->record->roots[c.found].any;
		w->direct = w->record->roots[c.found].direct;
		return true;
	}
	return !c.ended || is_made_inside(d) || (mount && is_moved_out(mount, d));
}

#endif
