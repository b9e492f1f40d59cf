#ifndef ISOD_LINUX_LATE_KERNEL_H
#define ISOD_LINUX_LATE_KERNEL_H
/*
 * The few members of the kernel's structures that late_hooks.bpf.c reads. Their places are put in when the program is
 * loaded (CO-RE), by name, so neither order nor completeness matters here.
 */
#include <linux/types.h>

#define KERNEL_STRUCT __attribute__((preserve_access_index))

typedef unsigned short umode_t;

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
	};
	const unsigned char *name;
} KERNEL_STRUCT;

struct user_namespace {
	int level;
} KERNEL_STRUCT;

struct super_block {
	unsigned long s_magic;
	struct user_namespace *s_user_ns;
} KERNEL_STRUCT;

struct inode {
	umode_t i_mode;
} KERNEL_STRUCT;

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
} KERNEL_STRUCT;

struct vfsmount {
	struct dentry *mnt_root;
} KERNEL_STRUCT;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
} KERNEL_STRUCT;

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct inode *f_inode;
	struct path f_path;
} KERNEL_STRUCT;

struct ns_common {
	unsigned int inum;
} KERNEL_STRUCT;

struct pid_namespace {
	struct ns_common ns;
} KERNEL_STRUCT;

struct upid {
	int nr;
	struct pid_namespace *ns;
} KERNEL_STRUCT;

struct pid {
	unsigned int level;
	struct upid numbers[1];
} KERNEL_STRUCT;

struct task_struct {
	struct pid *thread_pid;
} KERNEL_STRUCT;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL_STRUCT;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
} KERNEL_STRUCT;

#endif
