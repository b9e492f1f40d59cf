#include "daemon/linux/launch/launch_confine.h"

#include <errno.h>
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

int launch_confine_init(void)
{
	struct sock_fprog program = { .len = ARRAY_SIZE(filter), .filter = (void *)filter };

#ifdef SANITIZED_BUILD
	(void)program;
	return 0;
#else
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
#endif
}
