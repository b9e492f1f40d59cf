#include "daemon/linux/launch/launch_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/sanitizer.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet"
#endif

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	/* the last report, the signal to go */
	ALLOW(SYS_write),
	/* waiting, the link, children, the terminal */
	ALLOW(SYS_ppoll),
	ALLOW(SYS_recvmsg),
	ALLOW(SYS_sendmsg),
	ALLOW(SYS_read),
	ALLOW(SYS_pread64), /* a token in a file, launch_late.c */
	ALLOW(SYS_wait4),
	ALLOW(SYS_kill),
	ALLOW(SYS_ioctl),
	ALLOW(SYS_timerfd_settime),
	ALLOW(SYS_restart_syscall),
	ALLOW(SYS_rt_sigreturn),
	ALLOW(SYS_exit_group),
	/* looking for the owner of a socket */
	ALLOW(SYS_openat),
	ALLOW(SYS_close),
	ALLOW(SYS_readlinkat),
	ALLOW(SYS_getdents64),
	ALLOW(SYS_newfstatat),
	ALLOW(SYS_fstat),
	ALLOW(SYS_fcntl),
	ALLOW(SYS_lseek),
	/* folders that appear (launch_watch.h); without capabilities these calls can mark what the caller may read */
	ALLOW(SYS_fanotify_mark),
	ALLOW(SYS_inotify_add_watch),
	ALLOW(SYS_inotify_rm_watch),
	ALLOW(SYS_name_to_handle_at),
	ALLOW(SYS_statfs),
	ALLOW(SYS_fstatfs),
	ALLOW(SYS_clock_gettime),
	/* its memory */
	ALLOW(SYS_brk),
	ALLOW(SYS_mmap),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_madvise),
	ALLOW(SYS_getrandom),
#ifdef SYS_poll
	ALLOW(SYS_poll),
#endif
#ifdef SYS_open
	ALLOW(SYS_open),
#endif
	/* who is at the other end of a connection to the ssh-agent: that option alone */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 6),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SOL_SOCKET, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SO_PEERCRED, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	/* the other ends of published ports, launch_publish.c */
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	ALLOW(AF_INET),
	ALLOW(AF_INET6),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

static const struct sock_filter connector[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_recvmsg),
	ALLOW(SYS_sendmsg),
	ALLOW(SYS_connect),
	ALLOW(SYS_close),
	ALLOW(SYS_restart_syscall),
	ALLOW(SYS_rt_sigreturn),
	ALLOW(SYS_exit_group),
	/* the way to a socket: O_PATH alone where flags can be looked at, openat2's lie in memory */
	ALLOW(SYS_openat2),
	ALLOW(SYS_newfstatat),
	ALLOW(SYS_fstat),
	ALLOW(SYS_fstatfs),
	ALLOW(SYS_readlinkat),
#ifdef SYS_readlink
	ALLOW(SYS_readlink),
#endif
	/* its memory */
	ALLOW(SYS_brk),
	ALLOW(SYS_mmap),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_madvise),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_PATH, 0, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
	ALLOW(AF_UNIX),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

static int confine(const struct sock_filter *instructions, size_t n)
{
	struct sock_fprog program = { .len = (unsigned short)n, .filter = (void *)instructions };

#ifdef SANITIZED_BUILD
	(void)program;
	return 0;
#else
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
#endif
}

int launch_confine_init(void)
{
	return confine(filter, ARRAY_SIZE(filter));
}

int launch_confine_connector(void)
{
	return confine(connector, ARRAY_SIZE(connector));
}
