#include "daemon/linux/filter/seccomp_rules.h"

/* clang-format off */

/* Decided by number alone. Calls that are decided by their arguments are in seccomp_rules.c. */
const struct seccomp_call seccomp_allowed[] = {
	{"accept"}, {"accept4"}, {"access"}, {"alarm"}, {"arch_prctl"}, {"bind"}, {"brk"}, {"capget"}, {"capset"},
	{"chdir"}, {"chmod"}, {"chown"}, {"clock_getres"}, {"clock_gettime"}, {"clock_nanosleep"}, {"close"},
	{"close_range"}, {"connect"}, {"copy_file_range"}, {"creat"}, {"dup"}, {"dup2"}, {"dup3"}, {"epoll_create"},
	{"epoll_create1"}, {"epoll_ctl"}, {"epoll_pwait"}, {"epoll_pwait2"}, {"epoll_wait"}, {"eventfd"},
	{"eventfd2"}, {"execve"}, {"execveat"}, {"exit"}, {"exit_group"}, {"faccessat"}, {"faccessat2"},
	{"fadvise64"}, {"fallocate"}, {"fchdir"}, {"fchmod"}, {"fchmodat"}, {"fchown"}, {"fchownat"}, {"fcntl"},
	{"fdatasync"}, {"fgetxattr"}, {"flistxattr"}, {"flock"}, {"fork"}, {"fremovexattr"}, {"fsetxattr"}, {"fstat"},
	{"fstatfs"}, {"fsync"}, {"ftruncate"}, {"futex"}, {"futimesat"}, {"get_mempolicy"}, {"get_robust_list"},
	{"get_thread_area"}, {"getcpu"}, {"getcwd"}, {"getdents"}, {"getdents64"}, {"getegid"}, {"geteuid"},
	{"getgid"}, {"getgroups"}, {"getitimer"}, {"getpeername"}, {"getpgid"}, {"getpgrp"}, {"getpid"}, {"getppid"},
	{"getpriority"}, {"getrandom"}, {"getresgid"}, {"getresuid"}, {"getrlimit"}, {"getrusage"}, {"getsid"},
	{"getsockname"}, {"getsockopt"}, {"gettid"}, {"gettimeofday"}, {"getuid"}, {"getxattr"},
	{"inotify_add_watch"}, {"inotify_init"}, {"inotify_init1"}, {"inotify_rm_watch"}, {"io_cancel"},
	{"io_destroy"}, {"io_getevents"}, {"io_pgetevents"}, {"io_setup"}, {"io_submit"}, {"ioprio_get"},
	{"ioprio_set"}, {"kill"}, {"lchown"}, {"lgetxattr"}, {"link"}, {"linkat"}, {"listen"}, {"listxattr"},
	{"llistxattr"}, {"lremovexattr"}, {"lseek"}, {"lsetxattr"}, {"lstat"}, {"madvise"}, {"mbind"}, {"membarrier"},
	{"memfd_create"}, {"mincore"}, {"mkdir"}, {"mkdirat"}, {"mknod"}, {"mknodat"}, {"mlock"}, {"mlock2"},
	{"mlockall"}, {"mmap"}, {"mprotect"}, {"mq_getsetattr"}, {"mq_notify"}, {"mq_open"}, {"mq_timedreceive"},
	{"mq_timedsend"}, {"mq_unlink"}, {"mremap"}, {"msgctl"}, {"msgget"}, {"msgrcv"}, {"msgsnd"}, {"msync"},
	{"munlock"}, {"munlockall"}, {"munmap"}, {"name_to_handle_at"}, {"nanosleep"}, {"newfstatat"}, {"open"},
	{"openat"}, {"openat2"}, {"pause"}, {"pidfd_open"}, {"pidfd_send_signal"}, {"pipe"}, {"pipe2"},
	{"pkey_alloc"}, {"pkey_free"}, {"pkey_mprotect"}, {"poll"}, {"ppoll"}, {"prctl"}, {"pread64"}, {"preadv"},
	{"preadv2"}, {"prlimit64"}, {"process_madvise"}, {"pselect6"}, {"ptrace"}, {"pwrite64"}, {"pwritev"},
	{"pwritev2"}, {"read"}, {"readahead"}, {"readlink"}, {"readlinkat"}, {"readv"}, {"recvfrom"}, {"recvmmsg"},
	{"recvmsg"}, {"remap_file_pages"}, {"removexattr"}, {"rename"}, {"renameat"}, {"renameat2"},
	{"restart_syscall"}, {"rmdir"}, {"rseq"}, {"rt_sigaction"}, {"rt_sigpending"}, {"rt_sigprocmask"},
	{"rt_sigqueueinfo"}, {"rt_sigreturn"}, {"rt_sigsuspend"}, {"rt_sigtimedwait"}, {"rt_tgsigqueueinfo"},
	{"sched_get_priority_max"}, {"sched_get_priority_min"}, {"sched_getaffinity"}, {"sched_getattr"},
	{"sched_getparam"}, {"sched_getscheduler"}, {"sched_rr_get_interval"},
	{"sched_yield"}, {"seccomp"}, {"select"},
	{"semctl"}, {"semget"}, {"semop"}, {"semtimedop"}, {"sendfile"}, {"sendmmsg"}, {"sendmsg"}, {"sendto"},
	{"set_mempolicy"}, {"set_robust_list"}, {"set_thread_area"}, {"set_tid_address"}, {"setfsgid"}, {"setfsuid"},
	{"setgid"}, {"setgroups"}, {"setitimer"}, {"setpgid"}, {"setregid"}, {"setresgid"},
	{"setresuid"}, {"setreuid"}, {"setrlimit"}, {"setsid"}, {"setsockopt"}, {"setuid"}, {"setxattr"}, {"shmat"},
	{"shmctl"}, {"shmdt"}, {"shmget"}, {"shutdown"}, {"sigaltstack"}, {"signalfd"}, {"signalfd4"}, {"splice"},
	{"stat"}, {"statfs"}, {"statx"}, {"symlink"}, {"symlinkat"}, {"sync"}, {"sync_file_range"}, {"syncfs"},
	{"sysinfo"}, {"tee"}, {"tgkill"}, {"time"}, {"timer_create"}, {"timer_delete"}, {"timer_getoverrun"},
	{"timer_gettime"}, {"timer_settime"}, {"timerfd_create"}, {"timerfd_gettime"}, {"timerfd_settime"}, {"times"},
	{"tkill"}, {"truncate"}, {"umask"}, {"uname"}, {"unlink"}, {"unlinkat"}, {"utime"}, {"utimensat"}, {"utimes"},
	{"vfork"}, {"vmsplice"}, {"wait4"}, {"waitid"}, {"write"}, {"writev"},
	/* Younger than some libseccomp in use. */
	{"landlock_create_ruleset", 444}, {"landlock_add_rule", 445}, {"landlock_restrict_self", 446},
	{"memfd_secret", 447}, {"process_mrelease", 448}, {"futex_waitv", 449}, {"set_mempolicy_home_node", 450},
	{"cachestat", 451}, {"fchmodat2", 452}, {"futex_wake", 454}, {"futex_wait", 455}, {"futex_requeue", 456},
	{"mseal", 462}, {"setxattrat", 463}, {"getxattrat", 464}, {"listxattrat", 465}, {"removexattrat", 466},
	{NULL}
};

/* Refused aloud: what would change the machine, the mounts or another program, and what attackers of kernels start with
 * (bpf, userfaultfd, perf, keyrings). Programs take EPERM for the answer. io_uring is not here: Node and Bun probe it
 * and fall back on ENOSYS. */
const struct seccomp_call seccomp_refused[] = {
	{"acct"}, {"add_key"}, {"adjtimex"}, {"bpf"}, {"chroot"}, {"clock_adjtime"}, {"clock_settime"},
	{"delete_module"}, {"fanotify_init"}, {"fanotify_mark"}, {"finit_module"}, {"fsconfig"}, {"fsmount"},
	{"fsopen"}, {"fspick"}, {"get_kernel_syms"}, {"init_module"}, {"create_module"}, {"ioperm"}, {"iopl"},
	{"kcmp"}, {"kexec_file_load"}, {"kexec_load"}, {"keyctl"}, {"lookup_dcookie"}, {"migrate_pages"},
	{"modify_ldt"}, {"mount"}, {"mount_setattr"}, {"move_mount"}, {"move_pages"}, {"nfsservctl"},
	{"open_by_handle_at"}, {"open_tree"}, {"perf_event_open"}, {"pidfd_getfd"}, {"pivot_root"},
	{"process_vm_readv"}, {"process_vm_writev"}, {"query_module"}, {"quotactl"}, {"quotactl_fd"}, {"reboot"},
	{"request_key"}, {"setdomainname"}, {"sethostname"}, {"setns"}, {"settimeofday"}, {"swapoff"}, {"swapon"},
	{"syslog"}, {"umount2"}, {"userfaultfd"}, {"vhangup"},
	{"open_tree_attr", 467},
	{NULL}
};

/* An agent's own bubblewrap or Chromium builds namespaces of its own in a user namespace; there the kernel asks for
 * capabilities over that namespace. */
const struct seccomp_call seccomp_allowed_nested[] = {
	{"chroot"}, {"fsconfig"}, {"fsmount"}, {"fsopen"}, {"fspick"}, {"mount"}, {"mount_setattr"}, {"move_mount"},
	{"open_tree"}, {"pivot_root"}, {"setdomainname"}, {"sethostname"}, {"setns"}, {"umount2"},
	{"open_tree_attr", 467},
	{NULL}
};
