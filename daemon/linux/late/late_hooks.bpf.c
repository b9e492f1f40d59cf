/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The kernel's side of the late guard: for tasks of known sessions it refuses, by name, what the plan's rules forbid.
 * Whose task it is says the pid namespace: it is inherited, can be left only downwards, and there always.
 *
 * Every pointer but the first of a hook is read by bpf_probe_read_kernel() as a number: what verifiers allow to follow
 * differs between kernels. Errors of reading can only come from a kernel that we do not understand; they refuse.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "daemon/linux/late/late_climb.h"
#include "daemon/linux/late/late_kernel.h"
#include "daemon/linux/late/late_record.h"
#include "daemon/linux/late/late_walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define OP(op) (1u << (op))
#define ERR_ACCES 13
#define KIND_MASK 0170000
#define KIND_FOLDER 0040000
#define MODE_READ 1u
#define MODE_WRITE 2u
#define FLAG_TRUNC 01000u
#define FLAG_EXCHANGE 2u
#define PID_LEVELS 32 /* MAX_PID_NS_LEVEL */

char late_license[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LATE_SESSIONS);
	__type(key, __u32);
	__type(value, struct late_record);
} late_sessions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LATE_RING_BYTES);
} late_events SEC(".maps");

/* ---- whose task ---- */

struct owner {
	__u32 key;
	int pid;
	struct late_record *record;
};

/* The innermost pid namespace of the current task, or one around it, that is a session's. */
static __always_inline bool find_owner(struct owner *owner)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < PID_LEVELS && level > 0; i++, level--) {
		const void *at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
				 (__u64)level * bpf_core_type_size(struct upid);
		struct pid_namespace *ns = BPF_CORE_READ((struct upid *)at, ns);

		owner->key = BPF_CORE_READ(ns, ns.inum);
		owner->record = bpf_map_lookup_elem(&late_sessions, &owner->key);
		owner->pid = BPF_CORE_READ((struct upid *)at, nr);
		if (owner->record)
			return true;
	}
	return false;
}

/* ---- verdict ---- */

static __always_inline void tell(const struct owner *owner, const struct walk *w, struct dentry *d, __u32 ops)
{
	struct late_refusal *e = bpf_ringbuf_reserve(&late_events, sizeof(*e), 0);
	__u32 bit = lowest_bit(w->refused) % LATE_BITS;

	if (!e)
		__sync_fetch_and_add(&w->record->lost, 1);
	if (!e)
		return;
	e->session = owner->key;
	e->pid = owner->pid;
	e->ops = ops;
	e->rule = w->record->rule[bit];
	e->group = w->record->group[bit];
	e->secret = (w->record->ops[LATE_READ] & w->refused) != 0;
	e->lost = w->record->lost;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	for (__u32 i = 0; i < LATE_REFUSAL_NAMES; i++) {
		e->names[i][0] = '\0';
		if (i >= w->limit)
			continue;
		bpf_probe_read_kernel_str(e->names[i], sizeof(e->names[i]), BPF_CORE_READ(d, d_name.name));
		d = BPF_CORE_READ(d, d_parent);
	}
	bpf_ringbuf_submit(e, 0);
}

/* The order of view/path_rules.h. */
static __always_inline bool is_refused(const struct walk *w)
{
	if (w->at_firm != NOWHERE && w->at_firm <= w->at_allow)
		return true;
	return w->at_built_in != NOWHERE && w->at_built_in < w->at_exempt && w->at_built_in < w->at_named &&
	       w->at_built_in <= w->at_allow;
}

/* Does a rule forbid one of ops on d? 0 or -EACCES. */
static __noinline int judge(const struct owner *owner, struct dentry *d, __u32 ops, __u32 folder,
			    struct vfsmount *mount)
{
	struct late_record *r = owner->record;
	struct walk w = { .record = r, .limit = LATE_LEVELS, .any = ~0ULL, .direct = ~0ULL, .folder = folder };

	for (int i = 0; i < LATE_OPS; i++)
		if (ops & OP(i))
			w.asked |= r->ops[i];
	if (!w.asked)
		return 0;
	w.allow = r->allow_write | (ops & ~OP(LATE_READ) ? 0 : r->allow_read);
	/* First by names alone, wherever it is: nearly every path ends here. */
	walk_names(&w, d);
	if (!w.refused || !find_root(&w, d, mount))
		return 0;
	walk_names(&w, d);
	if (!is_refused(&w))
		return 0;
	tell(owner, &w, d, ops);
	return -ERR_ACCES;
}

static __always_inline __u32 is_folder(struct dentry *d)
{
	return (BPF_CORE_READ(d, d_inode, i_mode) & KIND_MASK) == KIND_FOLDER;
}

/* ---- hooks ---- */

SEC("lsm/file_open")
int BPF_PROG(late_open, struct file *file)
{
	struct owner owner;
	__u32 mode, ops = 0;

	if (!find_owner(&owner))
		return 0;
	mode = BPF_CORE_READ(file, f_mode);
	if (mode & MODE_READ)
		ops |= OP(LATE_READ);
	if (mode & MODE_WRITE || BPF_CORE_READ(file, f_flags) & FLAG_TRUNC)
		ops |= OP(LATE_WRITE);
	/* fanotify opens what others want to open for pid 1 of the session, which is ours; without it there is no
	 * answer. */
	if (owner.pid == 1 && ops == OP(LATE_READ))
		return 0;
	return judge(&owner, BPF_CORE_READ(file, f_path.dentry), ops,
		     (BPF_CORE_READ(file, f_inode, i_mode) & KIND_MASK) == KIND_FOLDER,
		     BPF_CORE_READ(file, f_path.mnt));
}

SEC("lsm/path_truncate")
int BPF_PROG(late_truncate, struct path *path)
{
	struct owner owner;

	return find_owner(&owner)
		       ? judge(&owner, BPF_CORE_READ(path, dentry), OP(LATE_WRITE), 0, BPF_CORE_READ(path, mnt))
		       : 0;
}

SEC("lsm/inode_create")
int BPF_PROG(late_create, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0, NULL) : 0;
}

SEC("lsm/inode_mkdir")
int BPF_PROG(late_mkdir, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE), 1, NULL) : 0;
}

SEC("lsm/inode_mknod")
int BPF_PROG(late_mknod, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0, NULL) : 0;
}

SEC("lsm/inode_symlink")
int BPF_PROG(late_symlink, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_REPLACE), 0, NULL) : 0;
}

SEC("lsm/inode_link")
int BPF_PROG(late_link, struct dentry *old, struct inode *dir, struct dentry *d)
{
	struct owner owner;
	int r;

	if (!find_owner(&owner))
		return 0;
	r = judge(&owner, old, OP(LATE_LINK), 0, NULL);
	return r ? r : judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0, NULL);
}

/* An exchange comes here twice, the second time with its sides swapped. */
SEC("lsm/inode_rename")
int BPF_PROG(late_rename, struct inode *old_dir, struct dentry *old, struct inode *dir, struct dentry *d)
{
	struct owner owner;
	__u32 folder;
	int r;

	if (!find_owner(&owner))
		return 0;
	folder = is_folder(old);
	r = judge(&owner, old, OP(LATE_MOVE), folder, NULL);
	return r ? r : judge(&owner, d, OP(LATE_CREATE) | OP(LATE_REPLACE), folder, NULL);
}

SEC("lsm/inode_unlink")
int BPF_PROG(late_unlink, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_UNLINK), 0, NULL) : 0;
}

SEC("lsm/inode_rmdir")
int BPF_PROG(late_rmdir, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_UNLINK), 1, NULL) : 0;
}

/* ---- what was moved out ---- */

/* The hooks above do not know the mount. These do, are asked first, and see to what has left it. */
static __always_inline int judge_out(const struct owner *owner, const struct path *dir, struct dentry *d, __u32 ops,
				     __u32 folder)
{
	struct vfsmount *mount = BPF_CORE_READ(dir, mnt);

	return is_moved_out(mount, d) ? judge(owner, d, ops, folder, mount) : 0;
}

SEC("lsm/path_mknod")
int BPF_PROG(late_out_create, const struct path *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, dir, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0) : 0;
}

SEC("lsm/path_mkdir")
int BPF_PROG(late_out_mkdir, const struct path *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, dir, d, OP(LATE_CREATE), 1) : 0;
}

SEC("lsm/path_symlink")
int BPF_PROG(late_out_symlink, const struct path *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, dir, d, OP(LATE_CREATE) | OP(LATE_REPLACE), 0) : 0;
}

/* Both names are of one mount. */
SEC("lsm/path_link")
int BPF_PROG(late_out_link, struct dentry *old, const struct path *dir, struct dentry *d)
{
	struct owner owner;
	int r;

	if (!find_owner(&owner))
		return 0;
	r = judge_out(&owner, dir, old, OP(LATE_LINK), 0);
	return r ? r : judge_out(&owner, dir, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0);
}

/* An exchange comes here once. Two programs, since one would need more stack than there is. */
SEC("lsm/path_rename")
int BPF_PROG(late_out_leave, const struct path *old_dir, struct dentry *old, const struct path *dir, struct dentry *d,
	     unsigned int flags)
{
	__u32 comes = flags & FLAG_EXCHANGE ? OP(LATE_CREATE) | OP(LATE_REPLACE) : 0;
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, old_dir, old, OP(LATE_MOVE) | comes, is_folder(old)) : 0;
}

SEC("lsm/path_rename")
int BPF_PROG(late_out_come, const struct path *old_dir, struct dentry *old, const struct path *dir, struct dentry *d,
	     unsigned int flags)
{
	__u32 leaves = flags & FLAG_EXCHANGE ? OP(LATE_MOVE) : 0;
	struct owner owner;

	if (!find_owner(&owner))
		return 0;
	return judge_out(&owner, dir, d, OP(LATE_CREATE) | OP(LATE_REPLACE) | leaves, is_folder(old));
}

SEC("lsm/path_unlink")
int BPF_PROG(late_out_unlink, const struct path *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, dir, d, OP(LATE_UNLINK), 0) : 0;
}

SEC("lsm/path_rmdir")
int BPF_PROG(late_out_rmdir, const struct path *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge_out(&owner, dir, d, OP(LATE_UNLINK), 1) : 0;
}

/* No hook: the addresses of the folders that the asking process has open. */
SEC("iter/task_file")
int late_folders(struct bpf_iter__task_file *ctx)
{
	struct file *file = ctx->file;
	struct late_folder folder = { .fd = ctx->fd };

	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & KIND_MASK) != KIND_FOLDER)
		return 0;
	folder.inode = (__u64)BPF_CORE_READ(file, f_inode);
	bpf_seq_write(ctx->meta->seq, &folder, sizeof(folder));
	return 0;
}
