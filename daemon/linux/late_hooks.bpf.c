/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The kernel's side of the late guard: for tasks of known sessions it refuses, by name, what the plan's rules forbid.
 * Whose task it is says the pid namespace: it is inherited, can be left only downwards, and there always.
 *
 * Every pointer but the first of a hook is read by bpf_probe_read_kernel() as a number: what verifiers allow to follow
 * differs between kernels. Errors of reading can only come from a kernel that we do not understand; they refuse.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "daemon/linux/late_kernel.h"
#include "daemon/linux/late_record.h"

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
#define MAGIC_OVERLAY 0x794c7630
#define PID_LEVELS 32 /* MAX_PID_NS_LEVEL */
#define NOWHERE 0xffffffffu

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

/* ---- names ---- */

/* The lowest bit of set, by multiplication with a de Bruijn sequence: clang 14 fails over __builtin_ctzll() here. */
static const __u8 bit_numbers[64] = {
	0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,  62, 55, 59, 36, 53, 51,
	43, 22, 45, 39, 33, 30, 24, 18, 12, 5,  63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
	44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
};

static __always_inline __u32 lowest_bit(__u64 set)
{
	return bit_numbers[((set & -set) * 0x03f79d71b4cb0a89ULL) >> 58];
}

struct walk {
	struct late_record *record;
	__u64 at;                     /* dentry */
	__u64 so_far[LATE_DEPTH - 1]; /* rules whose last 1, 2, 3 names were the last ones seen */
	__u64 asked;                  /* rules that forbid the operation */
	__u64 allow;                  /* rules that permit it */
	__u64 any;                    /* of the root */
	__u64 direct;
	__u32 limit;   /* levels below the root */
	__u32 folder;  /* the thing asked about is one */
	__u64 refused; /* rules of the deepest level that forbids */
	/* The deepest level, from the last name up, of a rule of each rank; NOWHERE = none holds. */
	__u64 at_firm, at_built_in, at_exempt, at_allow, at_named;
};

/* All ones where x is 0, else 0. Without a branch, as all of the comparison: the verifier follows both ways of each,
 * and the loop around it multiplies them. */
static __always_inline __u64 if_zero(__u64 x)
{
	x |= -x;
	asm volatile("" : "+r"(x)); /* else clang makes a branch of it */
	return (x >> 63) - 1;
}

/* All ones where the name fits, else 0. */
static __always_inline __u64 fits_star(const struct late_star *star, const unsigned char *name, __u32 len)
{
	__u64 head[LATE_HEAD / 8] = {}, tail[LATE_TAIL / 8] = {}, differs;
	const __u64 *h = (const __u64 *)star->head, *t = (const __u64 *)star->tail;
	__u64 n = star->head_len, m = star->tail_len;

	differs = ((__u64)len - n - m) >> 63;
	/* Out of the compiler's sight, which knows that they are smaller; the verifier does not. */
	asm volatile("%0 &= 31\n%1 &= 15" : "+r"(n), "+r"(m));
	differs |= bpf_probe_read_kernel(head, n, name);
	differs |= bpf_probe_read_kernel(tail, m, name + len - m);
	for (int i = 0; i < LATE_HEAD / 8; i++)
		differs |= head[i] ^ h[i];
	for (int i = 0; i < LATE_TAIL / 8; i++)
		differs |= tail[i] ^ t[i];
	return if_zero(differs);
}

/* What one name is to the rules. */
struct look {
	struct late_record *record;
	const unsigned char *name;
	__u64 len;
	__u64 left[2];          /* stars to compare with */
	__u64 fits[LATE_DEPTH]; /* the rules that have it at their last place, at the one before it, ... */
};

static __always_inline void compare_half(struct look *look, __u32 half)
{
	__u64 left = look->left[half];
	struct late_star *star = &look->record->stars[(half * 64 + lowest_bit(left)) % LATE_STARS];
	__u64 is_it = fits_star(star, look->name, look->len) & ~if_zero(left);
	__u64 *set = look->record->sets[star->set % LATE_SETS];

	for (int d = 0; d < LATE_DEPTH; d++)
		look->fits[d] |= set[d] & is_it;
	look->left[half] = left & (left - 1);
}

static long compare_stars(__u32 i, void *data)
{
	struct look *look = data;

	compare_half(look, 0);
	compare_half(look, 1);
	return !(look->left[0] | look->left[1]);
}

static __always_inline void find_plain(struct look *look)
{
	__u64 words[LATE_HEAD / 8] = {}, len = look->len, hash;
	struct late_record *record = look->record;
	__u64 *one, *two, is_one, is_two;

	asm volatile("%0 &= 31" : "+r"(len));
	bpf_probe_read_kernel(words, len, look->name);
	hash = late_hash(words, record->seed);
	is_one = if_zero(record->plain[LATE_PLACE_1(hash)] ^ hash);
	is_two = if_zero(record->plain[LATE_PLACE_2(hash)] ^ hash);
	one = record->sets[record->plain_set[LATE_PLACE_1(hash)] % LATE_SETS];
	two = record->sets[record->plain_set[LATE_PLACE_2(hash)] % LATE_SETS];
	for (int d = 0; d < LATE_DEPTH; d++)
		look->fits[d] |= (one[d] & is_one) | (two[d] & is_two);
}

static __always_inline void find_rules(struct look *look)
{
	struct late_record *record = look->record;
	__u8 bytes[2] = {}, end = 0;
	__u32 first, last;

	bpf_probe_read_kernel(bytes, sizeof(bytes), look->name);
	bpf_probe_read_kernel(&end, 1, look->name + look->len - 1);
	first = LATE_FIRST((__u32)bytes[0], (__u32)bytes[1]);
	last = LATE_LAST((__u32)end);
	if (look->len < LATE_HEAD && record->ends[first] >> last & 1)
		find_plain(look);
	look->left[0] = record->first[first][0] & record->last[last][0];
	look->left[1] = record->first[first][1] & record->last[last][1];
	if (look->left[0] | look->left[1])
		bpf_loop(LATE_CANDIDATES, compare_stars, look, 0);
}

/* All ones where a < b, both below 2^63; else 0. */
static __always_inline __u64 if_less(__u64 a, __u64 b)
{
	a -= b;
	asm volatile("" : "+r"(a));
	return -(a >> 63);
}

/* Branchless: *at becomes level where rules hold there and level is less. */
static __always_inline void note(__u64 *at, __u64 rules, __u64 level)
{
	*at ^= (*at ^ level) & if_less(level, *at) & ~if_zero(rules);
}

/* Rules of n names that were complete with the name of this level. */
static __always_inline void weigh(struct walk *w, __u64 rules, __u64 level, __u64 n)
{
	const struct late_record *r = w->record;
	__u64 holds_at = level - (n - 1), refused, deepest;

	rules &= r->length[n - 1];
	rules &= w->any | (w->direct & if_zero((level + 1) ^ w->limit));
	rules &= ~((r->files_only & ~if_zero(holds_at | w->folder)) | (r->itself & ~if_zero(holds_at)));
	refused = rules & w->asked;
	deepest = if_less(holds_at, w->at_firm) & if_less(holds_at, w->at_built_in) & ~if_zero(refused);
	w->refused ^= (w->refused ^ refused) & deepest;
	note(&w->at_firm, refused & r->firm, holds_at);
	note(&w->at_built_in, refused & ~r->firm, holds_at);
	note(&w->at_exempt, rules & r->exempt, holds_at);
	note(&w->at_exempt, rules & r->exempt_below & ~if_zero(holds_at), 0);
	note(&w->at_allow, rules & w->allow, holds_at);
	note(&w->at_named, rules & w->allow & r->named, holds_at);
}

static long walk_one(__u32 level, void *data)
{
	struct walk *w = data;
	struct dentry *d = (struct dentry *)w->at;
	__u64 up = (__u64)BPF_CORE_READ(d, d_parent);
	struct look look = { .record = w->record };
	const __u64 *fits = look.fits;

	if (level >= w->limit || up == w->at)
		return 1;
	look.name = BPF_CORE_READ(d, d_name.name);
	look.len = BPF_CORE_READ(d, d_name.len);
	if (look.len > 0)
		find_rules(&look);
	weigh(w, fits[0], level, 1);
	weigh(w, w->so_far[0] & fits[1], level, 2);
	weigh(w, w->so_far[1] & fits[2], level, 3);
	weigh(w, w->so_far[2] & fits[3], level, 4);
	w->so_far[2] = w->so_far[1] & fits[2];
	w->so_far[1] = w->so_far[0] & fits[1];
	w->so_far[0] = fits[0];
	w->at = up;
	return 0;
}

static __always_inline void walk_names(struct walk *w, struct dentry *d)
{
	w->at = (__u64)d;
	w->so_far[0] = w->so_far[1] = w->so_far[2] = 0;
	w->at_firm = w->at_built_in = w->at_exempt = w->at_allow = w->at_named = NOWHERE;
	w->refused = 0;
	bpf_loop(LATE_LEVELS, walk_one, w, 0);
}

/* ---- the root above ---- */

struct climb {
	struct late_record *record;
	__u64 at;
	__u32 level;
	__u32 found; /* index of the root, NOWHERE = none */
	__u32 ended; /* at the top of its file system */
	__u32 reserved;
};

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

/* Which rules hold where d is. False: none, it is in no granted folder. */
static __always_inline bool find_root(struct walk *w, struct dentry *d)
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
	return !c.ended || is_made_inside(d);
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
static __noinline int judge(const struct owner *owner, struct dentry *d, __u32 ops, __u32 folder)
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
	if (!w.refused || !find_root(&w, d))
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
	return judge(&owner, BPF_CORE_READ(file, f_path.dentry), ops,
		     (BPF_CORE_READ(file, f_inode, i_mode) & KIND_MASK) == KIND_FOLDER);
}

SEC("lsm/path_truncate")
int BPF_PROG(late_truncate, struct path *path)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, BPF_CORE_READ(path, dentry), OP(LATE_WRITE), 0) : 0;
}

SEC("lsm/inode_create")
int BPF_PROG(late_create, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0) : 0;
}

SEC("lsm/inode_mkdir")
int BPF_PROG(late_mkdir, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE), 1) : 0;
}

SEC("lsm/inode_mknod")
int BPF_PROG(late_mknod, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0) : 0;
}

SEC("lsm/inode_symlink")
int BPF_PROG(late_symlink, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_CREATE) | OP(LATE_REPLACE), 0) : 0;
}

SEC("lsm/inode_link")
int BPF_PROG(late_link, struct dentry *old, struct inode *dir, struct dentry *d)
{
	struct owner owner;
	int r;

	if (!find_owner(&owner))
		return 0;
	r = judge(&owner, old, OP(LATE_LINK), 0);
	return r ? r : judge(&owner, d, OP(LATE_CREATE) | OP(LATE_FORGE), 0);
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
	r = judge(&owner, old, OP(LATE_MOVE), folder);
	return r ? r : judge(&owner, d, OP(LATE_CREATE) | OP(LATE_REPLACE), folder);
}

SEC("lsm/inode_unlink")
int BPF_PROG(late_unlink, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_UNLINK), 0) : 0;
}

SEC("lsm/inode_rmdir")
int BPF_PROG(late_rmdir, struct inode *dir, struct dentry *d)
{
	struct owner owner;

	return find_owner(&owner) ? judge(&owner, d, OP(LATE_UNLINK), 1) : 0;
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
