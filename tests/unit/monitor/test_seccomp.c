/* The filter: every number by a small interpreter, the dangerous ones for real in a child. */
#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/linux/filter/seccomp_rules.h"
#include "daemon/linux/filter/seccomp_session.h"

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(e) (SECCOMP_RET_ERRNO | (e))
#define HIGH 0xdeadbeef00000000ull /* what a caller may leave above a 32-bit argument */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static struct buffer plain = BUFFER_INIT(SECCOMP_RULES_MAX), nested = BUFFER_INIT(SECCOMP_RULES_MAX);

static int build(void **state)
{
	assert_int_equal(seccomp_rules_build(false, &plain), 0);
	assert_int_equal(seccomp_rules_build(true, &nested), 0);
	return 0;
}

static int drop(void **state)
{
	buffer_done(&plain);
	buffer_done(&nested);
	return 0;
}

static uint32_t run(const struct buffer *b, const struct seccomp_data *d)
{
	const struct sock_filter *code = (const void *)b->data;
	size_t n = b->len / sizeof(*code);
	uint32_t a = 0;

	for (size_t pc = 0; pc < n; pc++) {
		const struct sock_filter *i = &code[pc];
		bool yes;

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k + 4 <= sizeof(*d));
			memcpy(&a, (const char *)d + i->k, 4);
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			continue;
		case BPF_JMP | BPF_JA:
			pc += i->k;
			continue;
		case BPF_RET | BPF_K:
			return i->k;
		case BPF_JMP | BPF_JEQ | BPF_K:
			yes = a == i->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			yes = a >= i->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			yes = a > i->k;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			yes = (a & i->k) != 0;
			break;
		default:
			fail_msg("instruction %#x", i->code);
			return 0;
		}
		pc += yes ? i->jt : i->jf;
	}
	fail_msg("the program runs off its end");
	return 0;
}

static uint32_t verdict(const struct buffer *b, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	const struct seccomp_data d = { .nr = nr, .arch = ARCH, .args = { a0, a1, a2 } };

	return run(b, &d);
}

static const char *name_of(uint32_t v)
{
	return v == ALLOW ? "allow" : v == FAIL(EPERM) ? "eperm" : v == FAIL(ENOSYS) ? "enosys" : "other";
}

/* One line for each run of numbers with the same answer, arguments all zero. */
static char *describe(const struct buffer *b)
{
	static char text[8192];
	size_t at = 0;

	for (int from = 0, to; from < 1024; from = to + 1) {
		uint32_t v = verdict(b, from, 0, 0, 0);

		for (to = from; to + 1 < 1024 && verdict(b, to + 1, 0, 0, 0) == v; to++)
			;
		at += snprintf(text + at, sizeof(text) - at, "%d-%d %s\n", from, to, name_of(v));
	}
	return text;
}

static void compare_golden(const struct buffer *b, const char *file)
{
	char path[4096], expected[8192];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_DIR, file);
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(expected, 1, sizeof(expected) - 1, f);
	expected[n] = '\0';
	fclose(f);
	assert_string_equal(describe(b), expected);
}

static void test_every_number(void **state)
{
	/* the golden numbers are x86-64's: another architecture needs its own */
	assert_int_equal(ARCH, AUDIT_ARCH_X86_64);
	compare_golden(&plain, "seccomp.golden");
	compare_golden(&nested, "seccomp_nesting.golden");
}

static void test_other_entry_points(void **state)
{
	struct seccomp_data d = { .nr = 0, .arch = AUDIT_ARCH_I386 };

	assert_int_equal(run(&plain, &d), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(run(&nested, &d), SECCOMP_RET_KILL_PROCESS);
	for (int nr = 0; nr < 600; nr++)
		assert_int_equal(verdict(&nested, nr | 0x40000000, 0, 0, 0), FAIL(ENOSYS));
	assert_int_equal(verdict(&plain, -1, 0, 0, 0), FAIL(ENOSYS));
	assert_int_equal(verdict(&plain, 500, 0, 0, 0), FAIL(ENOSYS));
	assert_int_equal(verdict(&plain, 100000, 0, 0, 0), FAIL(ENOSYS));
}

static bool socket_expected(int family, int type, int protocol, uint32_t *ret)
{
	bool inet = family == AF_INET || family == AF_INET6;
	bool known =
		protocol == 0 || protocol == 1 || protocol == 6 || protocol == 17 || protocol == 58 || protocol == 262;

	if (family == AF_UNIX || (family == AF_NETLINK && protocol == NETLINK_ROUTE))
		*ret = ALLOW;
	else if (!inet)
		*ret = FAIL(EAFNOSUPPORT);
	else if (type != SOCK_STREAM && type != SOCK_DGRAM)
		*ret = FAIL(EPERM);
	else
		*ret = known ? ALLOW : FAIL(EPROTONOSUPPORT);
	return true;
}

static void test_sockets(void **state)
{
	for (int family = 0; family < 64; family++)
		for (int type = 0; type < 16; type++)
			for (int protocol = 0; protocol < 300; protocol++) {
				uint32_t want;

				socket_expected(family, type, protocol, &want);
				assert_int_equal(verdict(&plain, SYS_socket, HIGH | family, HIGH | type | SOCK_CLOEXEC,
							 HIGH | protocol),
						 want);
				assert_int_equal(verdict(&nested, SYS_socket, family, type | SOCK_NONBLOCK, protocol),
						 want);
			}
	assert_int_equal(verdict(&plain, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0), ALLOW);
	assert_int_equal(verdict(&plain, SYS_socketpair, AF_TIPC, SOCK_STREAM, 0), FAIL(EAFNOSUPPORT));
}

static void test_ioctl(void **state)
{
	static const unsigned refused[] = { TIOCSTI, TIOCLINUX, TIOCSETD };

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(verdict(&plain, SYS_ioctl, 0, refused[i], 0), FAIL(EPERM));
		/* CVE-2023-1523 and its kin: the kernel drops the upper half, so must the filter. */
		assert_int_equal(verdict(&plain, SYS_ioctl, 0, HIGH | refused[i], 0), FAIL(EPERM));
		assert_int_equal(verdict(&nested, SYS_ioctl, 0, HIGH | refused[i], 0), FAIL(EPERM));
	}
	assert_int_equal(verdict(&plain, SYS_ioctl, 0, TIOCGWINSZ, 0), ALLOW);
}

static void test_namespaces(void **state)
{
	static const uint64_t flags[] = { CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
					  CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET };

	for (unsigned i = 0; i < 7; i++) {
		assert_int_equal(verdict(&plain, SYS_clone, HIGH | flags[i] | SIGCHLD, 0, 0), FAIL(EPERM));
		assert_int_equal(verdict(&plain, SYS_unshare, flags[i] | CLONE_FS, 0, 0), FAIL(EPERM));
		assert_int_equal(verdict(&nested, SYS_clone, flags[i] | SIGCHLD, 0, 0), ALLOW);
		assert_int_equal(verdict(&nested, SYS_unshare, flags[i], 0, 0), ALLOW);
	}
	assert_int_equal(verdict(&plain, SYS_unshare, 0x80, 0, 0), FAIL(EPERM)); /* time namespace */
	assert_int_equal(verdict(&plain, SYS_clone, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD, 0, 0), ALLOW);
	assert_int_equal(verdict(&plain, SYS_clone3, 0, 0, 0), FAIL(ENOSYS));
	assert_int_equal(verdict(&nested, SYS_clone3, 0, 0, 0), ALLOW);
	assert_int_equal(verdict(&plain, SYS_personality, ADDR_NO_RANDOMIZE, 0, 0), ALLOW);
	assert_int_equal(verdict(&plain, SYS_personality, READ_IMPLIES_EXEC, 0, 0), FAIL(EPERM));
}

/* Of pid 1 nothing may be set, however it is named; of itself and its children everything. */
static void test_scheduling(void **state)
{
	static const int calls[] = { SYS_sched_setaffinity, SYS_sched_setattr, SYS_sched_setparam,
				     SYS_sched_setscheduler };
	const struct buffer *const filters[] = { &plain, &nested };

	for (unsigned f = 0; f < 2; f++) {
		for (unsigned i = 0; i < 4; i++) {
			assert_int_equal(verdict(filters[f], calls[i], 0, 1, 1), ALLOW);
			assert_int_equal(verdict(filters[f], calls[i], 2, 1, 1), ALLOW);
			assert_int_equal(verdict(filters[f], calls[i], HIGH | 1, 0, 0), FAIL(EPERM));
		}
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_PROCESS, 0, 1), ALLOW);
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_PROCESS, 2, 1), ALLOW);
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_PGRP, 0, 1), ALLOW);
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_USER, 0, 1), ALLOW);
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_PROCESS, HIGH | 1, 0), FAIL(EPERM));
		assert_int_equal(verdict(filters[f], SYS_setpriority, PRIO_PGRP, 1, 0), FAIL(EPERM));
		assert_int_equal(verdict(filters[f], SYS_setpriority, HIGH | PRIO_USER, 999, 0), FAIL(EPERM));
	}
}

/* isod-session shares its uid with its like and with every pid 1: no signal of its choice may reach them. */
static void test_session_sends_no_signals(void **state)
{
	static const int calls[] = { SYS_kill,
				     SYS_tkill,
				     SYS_tgkill,
				     SYS_rt_sigqueueinfo,
				     SYS_rt_tgsigqueueinfo,
				     SYS_pidfd_open,
				     SYS_pidfd_send_signal,
				     SYS_timer_create,
				     SYS_mq_notify,
				     SYS_setpriority,
				     SYS_sched_setaffinity };
	static const int commands[] = { F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY };
	static const unsigned requests[] = { FIOSETOWN, SIOCSPGRP, FIOASYNC, TIOCSTI };
	_cleanup_buffer_ struct buffer session = BUFFER_INIT(SECCOMP_RULES_MAX);

	assert_int_equal(seccomp_session_build(&session), 0);
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_int_equal(verdict(&session, calls[i], 0, 0, 0), FAIL(ENOSYS));
	for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		for (unsigned h = 0; h < 2; h++)
			assert_int_equal(verdict(&session, SYS_fcntl, 3, (h ? HIGH : 0) | (unsigned)commands[i], 1),
					 FAIL(ENOSYS));
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		for (unsigned h = 0; h < 2; h++)
			assert_int_equal(verdict(&session, SYS_ioctl, 3, (h ? HIGH : 0) | requests[i], 1),
					 FAIL(ENOSYS));
	assert_int_equal(verdict(&session, SYS_fcntl, 3, F_SETFL, O_NONBLOCK), ALLOW);
	assert_int_equal(verdict(&session, SYS_ioctl, 3, FIONBIO, 0), ALLOW);
}

static int install_and_try(const struct buffer *b)
{
	struct sock_fprog program = { b->len / sizeof(struct sock_filter), (void *)b->data };
	char byte = 'x';

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	if (unshare(CLONE_NEWUSER) == 0 || errno != EPERM)
		return 2;
	if (socket(AF_VSOCK, SOCK_STREAM, 0) >= 0 || errno != EAFNOSUPPORT)
		return 3;
	if (socket(AF_INET, SOCK_RAW, 1) >= 0 || errno != EPERM)
		return 4;
	if (syscall(SYS_ioctl, 0, 0x100000000ull | TIOCSTI, &byte) >= 0 || errno != EPERM)
		return 5;
	if (syscall(SYS_bpf, 0, NULL, 0) >= 0 || errno != EPERM)
		return 6;
	if (syscall(425, 1, NULL) >= 0 || errno != ENOSYS) /* io_uring_setup */
		return 7;
	if (syscall(SYS_fsopen, "tmpfs", 0) >= 0 || errno != EPERM)
		return 8;
	if (syscall(SYS_kcmp, getpid(), getpid(), 0, 0, 0) >= 0 || errno != EPERM)
		return 9;
	if (syscall(900) >= 0 || errno != ENOSYS)
		return 10;
	/* What every program does still works: fork by way of glibc, memory, threads' calls, files. */
	if (system("exit 7") != 7 << 8)
		return 11;
	return 0;
}

static int status_of_child(int (*body)(const struct buffer *), const struct buffer *b)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body(b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void test_for_real(void **state)
{
	assert_int_equal(status_of_child(install_and_try, &plain), 0);
}

#if defined(__x86_64__)
static int call_i386(const struct buffer *b)
{
	struct sock_fprog program = { b->len / sizeof(struct sock_filter), (void *)b->data };
	long r = 20; /* getpid there */

	signal(SIGSEGV, SIG_DFL); /* cmocka has its own */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return 2;
}

static void test_i386_for_real(void **state)
{
	int status = status_of_child(call_i386, &plain);

	/* A kernel without the 32-bit entry ends it in its own way. */
	assert_true(WIFSIGNALED(status));
	assert_true(WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
}
#endif

static void test_bound(void **state)
{
	_cleanup_buffer_ struct buffer small = BUFFER_INIT(64);

	assert_int_equal(seccomp_rules_build(false, &small), -EMSGSIZE);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_number),
		cmocka_unit_test(test_other_entry_points),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_ioctl),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_scheduling),
		cmocka_unit_test(test_session_sends_no_signals),
		cmocka_unit_test(test_for_real),
#if defined(__x86_64__)
		cmocka_unit_test(test_i386_for_real),
#endif
		cmocka_unit_test(test_bound),
	};

	/* With a word after it, prints what the golden files hold. */
	if (argc > 1) {
		build(NULL);
		fputs(describe(strcmp(argv[1], "nesting") == 0 ? &nested : &plain), stdout);
		return drop(NULL);
	}
	return cmocka_run_group_tests(tests, build, drop);
}
