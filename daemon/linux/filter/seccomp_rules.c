#include "daemon/linux/filter/seccomp_rules.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/netlink.h>
#include <linux/personality.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/linux/filter/seccomp_export.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this architecture yet"
#endif

#define X32_BIT 0x40000000u

/*
 * libseccomp joins comparisons by "and" and cannot say "anything but these", so the calls that are decided by their
 * arguments come first, by hand; everything else runs on into libseccomp's program. Each block decides for good. The
 * kernel takes all these arguments as 32-bit values: the low half is what counts, whatever the caller left above it.
 */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_ARG(n) LOAD(args[n])
#define AND(mask) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask)
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define IF_ANY_BIT(mask, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mask, yes, no)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define FAIL(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW_IF(value) IF_EQUAL(value, 0, 1), ALLOW

#define NAMESPACE_FLAGS                                                                                                \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
/* In clone(2) this bit belongs to the exit signal. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define SOCKET_TYPE_MASK 0xf

static const struct sock_filter head[] = {
	LOAD(arch), IF_EQUAL(NATIVE_ARCH, 1, 0), KILL, LOAD(nr), IF_ANY_BIT(X32_BIT, 0, 1), FAIL(ENOSYS),
};

static const struct sock_filter socket_block[] = {
	LOAD_ARG(0),
	ALLOW_IF(AF_UNIX),
	IF_EQUAL(AF_NETLINK, 0, 4),
	LOAD_ARG(2),
	ALLOW_IF(NETLINK_ROUTE),
	FAIL(EAFNOSUPPORT),
	IF_EQUAL(AF_INET, 2, 0),
	IF_EQUAL(AF_INET6, 1, 0),
	FAIL(EAFNOSUPPORT),
	/* Type 10 with AF_INET is a packet socket by another name, so types are listed, not excluded. */
	LOAD_ARG(1),
	AND(SOCKET_TYPE_MASK),
	IF_EQUAL(SOCK_STREAM, 2, 0),
	IF_EQUAL(SOCK_DGRAM, 1, 0),
	FAIL(EPERM),
	LOAD_ARG(2),
	ALLOW_IF(0),
	ALLOW_IF(IPPROTO_TCP),
	ALLOW_IF(IPPROTO_UDP),
	ALLOW_IF(IPPROTO_ICMP),
	ALLOW_IF(IPPROTO_ICMPV6),
	ALLOW_IF(IPPROTO_MPTCP),
	FAIL(EPROTONOSUPPORT),
};

static const struct sock_filter socketpair_block[] = {
	LOAD_ARG(0),
	ALLOW_IF(AF_UNIX),
	FAIL(EAFNOSUPPORT),
};

static const struct sock_filter ioctl_block[] = {
	LOAD_ARG(1), IF_EQUAL(TIOCSTI, 3, 0), IF_EQUAL(TIOCLINUX, 2, 0), IF_EQUAL(TIOCSETD, 1, 0), ALLOW, FAIL(EPERM),
};

static const struct sock_filter clone_block[] = {
	LOAD_ARG(0),
	IF_ANY_BIT(NAMESPACE_FLAGS, 1, 0),
	ALLOW,
	FAIL(EPERM),
};

static const struct sock_filter unshare_block[] = {
	LOAD_ARG(0),
	IF_ANY_BIT(NAMESPACE_FLAGS | CLONE_NEWTIME, 1, 0),
	ALLOW,
	FAIL(EPERM),
};

static const struct sock_filter personality_block[] = {
	LOAD_ARG(0),
	ALLOW_IF(PER_LINUX),
	ALLOW_IF(PER_LINUX32),
	ALLOW_IF(UNAME26),
	ALLOW_IF(PER_LINUX32 | UNAME26),
	ALLOW_IF(ADDR_NO_RANDOMIZE), /* debuggers and sanitizers */
	ALLOW_IF(0xffffffff),        /* asks for the present one */
	FAIL(EPERM),
};

/*
 * pid 1 of the session has the program's effective uid, which is all that the scheduler's calls ask for. It is named by
 * its number or its group's, both 1, or together with all of its real uid.
 */
static const struct sock_filter schedule_block[] = {
	LOAD_ARG(0),
	IF_EQUAL(1, 0, 1),
	FAIL(EPERM),
	ALLOW,
};

static const struct sock_filter priority_block[] = {
	LOAD_ARG(1), ALLOW_IF(0), IF_EQUAL(1, 2, 0), LOAD_ARG(0), IF_EQUAL(PRIO_USER, 0, 1), FAIL(EPERM), ALLOW,
};

/* glibc takes ENOSYS as "use clone". */
static const struct sock_filter clone3_block[] = { FAIL(ENOSYS) };

static const struct sock_filter allow_block[] = { ALLOW };

#define BLOCK(b) b, ARRAY_SIZE(b)
static const struct {
	const char *name;
	const struct sock_filter *code;
	size_t n;
	const struct sock_filter *nested_code;
	size_t nested_n;
} by_argument[] = {
	{ "socket", BLOCK(socket_block), BLOCK(socket_block) },
	{ "socketpair", BLOCK(socketpair_block), BLOCK(socketpair_block) },
	{ "ioctl", BLOCK(ioctl_block), BLOCK(ioctl_block) },
	{ "clone", BLOCK(clone_block), BLOCK(allow_block) },
	{ "clone3", BLOCK(clone3_block), BLOCK(allow_block) },
	{ "unshare", BLOCK(unshare_block), BLOCK(allow_block) },
	{ "personality", BLOCK(personality_block), BLOCK(personality_block) },
	{ "sched_setaffinity", BLOCK(schedule_block), BLOCK(schedule_block) },
	{ "sched_setattr", BLOCK(schedule_block), BLOCK(schedule_block) },
	{ "sched_setparam", BLOCK(schedule_block), BLOCK(schedule_block) },
	{ "sched_setscheduler", BLOCK(schedule_block), BLOCK(schedule_block) },
	{ "setpriority", BLOCK(priority_block), BLOCK(priority_block) },
};

/* Negative where this architecture has no such call. */
static int call_number(const struct seccomp_call *call)
{
	int number = seccomp_syscall_resolve_name(call->name);

	if (number == __NR_SCMP_ERROR && call->number > 0)
		return call->number;
	return number;
}

static int append_by_argument(bool nesting, struct buffer *b)
{
	int r = buffer_append(b, head, sizeof(head));

	for (size_t i = 0; i < ARRAY_SIZE(by_argument) && r == 0; i++) {
		const struct sock_filter *code = nesting ? by_argument[i].nested_code : by_argument[i].code;
		size_t n = nesting ? by_argument[i].nested_n : by_argument[i].n;
		int number = seccomp_syscall_resolve_name(by_argument[i].name);
		struct sock_filter test = IF_EQUAL(number, 0, n);

		/* Each of these exists everywhere: a name not known would leave the call to the list below. */
		if (number < 0 || n > UINT8_MAX)
			return -ENOTSUP;
		r = buffer_append(b, &test, sizeof(test));
		if (r == 0)
			r = buffer_append(b, code, n * sizeof(*code));
	}
	return r;
}

static bool listed(const struct seccomp_call *list, const char *name)
{
	for (; list->name; list++)
		if (strcmp(list->name, name) == 0)
			return true;
	return false;
}

static int add_list(scmp_filter_ctx ctx, const struct seccomp_call *list, uint32_t action,
		    const struct seccomp_call *except)
{
	for (; list->name; list++) {
		int number = call_number(list);
		int r;

		if (number < 0 || (except && listed(except, list->name)))
			continue;
		r = seccomp_rule_add(ctx, action, number, 0);
		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_context(scmp_filter_ctx ctx, bool nesting)
{
	int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a binary tree */
	if (r == 0)
		r = add_list(ctx, seccomp_allowed, SCMP_ACT_ALLOW, NULL);
	if (r == 0)
		r = add_list(ctx, seccomp_refused, SCMP_ACT_ERRNO(EPERM), nesting ? seccomp_allowed_nested : NULL);
	if (r == 0 && nesting)
		r = add_list(ctx, seccomp_allowed_nested, SCMP_ACT_ALLOW, NULL);
	return r;
}

static int append_by_number(bool nesting, struct buffer *b)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int r;

	if (!ctx)
		return -ENOMEM;
	r = fill_context(ctx, nesting);
	if (r == 0)
		r = seccomp_export(ctx, b);
	seccomp_release(ctx);
	return r;
}

int seccomp_rules_build(bool nesting, struct buffer *ret)
{
	int r = append_by_argument(nesting, ret);

	if (r == 0)
		r = append_by_number(nesting, ret);
	return r < 0 ? r : (ret->len > SECCOMP_RULES_MAX ? -EMSGSIZE : 0);
}
