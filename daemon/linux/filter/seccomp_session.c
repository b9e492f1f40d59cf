#include "daemon/linux/filter/seccomp_session.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "daemon/linux/filter/seccomp_export.h"

/* Calls whose arguments need no look. Everything that is in no table here answers ENOSYS, as on an older kernel. */
static const int allowed[] = {
	/* the loop */
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(eventfd2),
	SCMP_SYS(pipe2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
	/* descriptors */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(pread64),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(close),
	SCMP_SYS(lseek),
	SCMP_SYS(dup),
	SCMP_SYS(splice),
	SCMP_SYS(tee),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(stat),
	SCMP_SYS(statx),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(readlink),
	SCMP_SYS(getdents64),
	/* the network */
	SCMP_SYS(connect),
	SCMP_SYS(bind),
	SCMP_SYS(listen),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(shutdown),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(socketpair),
	/* memory and threads */
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(gettid),
	SCMP_SYS(getpid),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getrandom),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	/* signals to itself */
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	/* what a resolver asks about */
	SCMP_SYS(uname),
	SCMP_SYS(sysinfo),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
};

/* Nothing here calls these, on any kernel: who does is not our code any more. */
static const int fatal[] = {
	SCMP_SYS(execve),
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(vfork),
	SCMP_SYS(ptrace),
	SCMP_SYS(unshare),
	SCMP_SYS(setns),
	SCMP_SYS(mount),
	SCMP_SYS(bpf),
	SCMP_SYS(process_vm_readv),
	SCMP_SYS(process_vm_writev),
	SCMP_SYS(io_uring_setup),
};

/* Not F_SETOWN, FIOSETOWN and their kin: by them a descriptor sends signals of choice to other processes of isod-net.
 */
static const int fcntl_commands[] = {
	F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETPIPE_SZ, F_SETPIPE_SZ, F_GET_SEALS,
};
static const unsigned ioctl_requests[] = { FIONBIO, FIOCLEX, FIONREAD, SIOCOUTQ, TIOCSWINSZ, TIOCGWINSZ, TCGETS };

/* The families that name resolution and dialling need. */
static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))

static int add_conditions(scmp_filter_ctx f)
{
	int r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
				 SCMP_A2(SCMP_CMP_MASKED_EQ, WRITING, O_RDONLY));

	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, WRITING, O_RDONLY));
	/* Threads, not processes. glibc tries clone3 first, whose flags lie in memory: ENOSYS sends it to clone. */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
				     SCMP_A0(SCMP_CMP_EQ, (unsigned)families[i]));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fcntl_commands); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, (unsigned)fcntl_commands[i]));
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(ioctl_requests); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
				     SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, ioctl_requests[i]));
	/* getrlimit() of this process, never a change */
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				     SCMP_A2(SCMP_CMP_EQ, 0));
	if (r == 0)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
	return r;
}

static int add_rules(scmp_filter_ctx f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(allowed); i++)
		r = seccomp_rule_add(f, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fatal); i++)
		r = seccomp_rule_add(f, SCMP_ACT_KILL_PROCESS, fatal[i], 0);
	return r < 0 ? r : add_conditions(f);
}

int seccomp_session_build(struct buffer *ret)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!f)
		return -ENOMEM;
	r = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	/* A binary tree: five comparisons a call instead of a hundred. */
	if (r == 0)
		r = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_rules(f);
	if (r == 0)
		r = seccomp_export(f, ret);
	seccomp_release(f);
	return r;
}
