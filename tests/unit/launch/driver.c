#include "tests/unit/launch/driver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/fd_pass.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/late.h"
#include "daemon/wire/netns.h"

static const char *const environment[] = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/u", "LANG=C.UTF-8", NULL };
static const struct sock_filter allow_all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };

/* begin, new table "inet isod", end */
static const struct {
	struct nlmsghdr begin;
	struct nfgenmsg begin_nf;
	struct nlmsghdr table;
	struct nfgenmsg table_nf;
	struct nfattr name;
	char name_text[8];
	struct nlmsghdr end;
	struct nfgenmsg end_nf;
} batch = {
	.begin = { 20, NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST, 0, 0 },
	.begin_nf = { .res_id = 0x0a00 },
	.table = { 32, NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_ACK, 1, 0 },
	.table_nf = { .nfgen_family = 1 /* NFPROTO_INET */ },
	.name = { 4 + sizeof(NETNS_TABLE), NFTA_TABLE_NAME },
	.name_text = NETNS_TABLE,
	.end = { 20, NFNL_MSG_BATCH_END, NLM_F_REQUEST, 2, 0 },
	.end_nf = { .res_id = 0x0a00 },
};

struct plan_mount *driver_mount(struct driver *d, uint32_t type, uint32_t flags, const char *source, const char *target)
{
	struct plan_mount *m = &d->mounts[d->plan.n_mounts++];

	assert_true(d->plan.n_mounts <= DRIVER_MOUNTS_MAX);
	*m = (struct plan_mount){ .type = type, .flags = flags, .mode = 0755, .source = source, .target = target };
	return m;
}

static void make_folder(char *path, size_t size, const char *name)
{
	snprintf(path, size, "/var/tmp/isod-test-%s-XXXXXX", name);
	assert_non_null(mkdtemp(path));
}

/* Whiteouts, as isod makes them: what must not be read even by uid 0. */
static void make_etc(const char *path)
{
	static const char *const hidden[] = { "shadow", "gshadow", "sudoers" };
	_cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	assert_int_equal(chmod(path, 0755), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		assert_int_equal(mknodat(dir, hidden[i], S_IFCHR, 0), 0);
}

void driver_init(struct driver *d, const char *const *argv)
{
	memset(d, 0, sizeof(*d));
	d->stdin_fd = d->spare_fd = d->report = d->link = d->input = d->output = d->pty = -1;
	for (size_t i = 0; i < LISTENER_COUNT; i++)
		d->listeners[i] = -1;
	make_folder(d->project, sizeof(d->project), "project");
	make_folder(d->scratch, sizeof(d->scratch), "scratch");
	make_folder(d->etc, sizeof(d->etc), "etc");
	assert_int_equal(chown(d->project, DRIVER_UID, DRIVER_UID), 0);
	make_etc(d->etc);
	d->context = (struct launch_context){
		.uid = DRIVER_UID,
		.gid = DRIVER_UID,
		.net_uid = DRIVER_NET_UID,
		.net_gid = DRIVER_NET_UID,
		.flags = LAUNCH_HAS_LANDLOCK,
		.files_soft = 1000,
	};
	d->ruleset = &batch;
	d->ruleset_len = sizeof(batch);
	d->plan = (struct plan){
		.uid = DRIVER_UID,
		.umask = 022,
		.id = "0123456789ab",
		.hostname = "sandbox",
		.cwd = d->project,
		.argv = argv,
		.envp = environment,
		.n_envp = 3,
		.mounts = d->mounts,
	};
	while (argv[d->plan.n_argv])
		d->plan.n_argv++;
	driver_mount(d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "/usr", "/usr");
	driver_mount(d, PLAN_MAKE_LINK, 0, "usr/bin", "/bin");
	driver_mount(d, PLAN_MAKE_LINK, 0, "usr/sbin", "/sbin");
	driver_mount(d, PLAN_MAKE_LINK, 0, "usr/lib", "/lib");
	driver_mount(d, PLAN_MAKE_LINK, 0, "usr/lib64", "/lib64");
	driver_mount(d, PLAN_MOUNT_ETC, PLAN_READ_ONLY, NULL, "/etc");
	driver_mount(d, PLAN_MOUNT_PROC, 0, NULL, "/proc");
	driver_mount(d, PLAN_MOUNT_DEV, 0, NULL, "/dev");
	driver_mount(d, PLAN_MOUNT_SYS, PLAN_READ_ONLY, NULL, "/sys");
	driver_mount(d, PLAN_MOUNT_SCRATCH, 0, NULL, "/tmp")->mode = 01777;
	driver_mount(d, PLAN_MOUNT_SCRATCH, PLAN_OWNED, NULL, "/home/u")->mode = 0700;
	driver_mount(d, PLAN_MOUNT_SCRATCH, 0, NULL, "/var/tmp")->mode = 01777;
	driver_mount(d, PLAN_MOUNT_BIND, PLAN_PROJECT | PLAN_GRANT, d->project, d->project);
}

static int sealed_plan(struct driver *d)
{
	struct buffer b = BUFFER_INIT(LIMIT_PLAN);
	int fd;

	assert_int_equal(plan_encode(&d->plan, &b), 0);
	fd = fd_sealed_new("plan", b.data, b.len);
	assert_true(fd >= 0);
	buffer_done(&b);
	return fd;
}

static int sealed_context(struct driver *d)
{
	uint8_t data[sizeof(struct launch_context) + sizeof(uint32_t)];
	size_t len = sizeof(struct launch_context) + d->context.n_groups * sizeof(uint32_t);
	int fd;

	d->context.size = (uint32_t)len;
	memcpy(data, &d->context, sizeof(d->context));
	memcpy(data + sizeof(d->context), &d->group, sizeof(d->group));
	fd = fd_sealed_new("context", data, len);
	assert_true(fd >= 0);
	return fd;
}

/* After fork: every source is moved out of the way, then to its number. */
static void become_launcher(const int *sources, const int *targets, size_t n, int spare)
{
	int high[16];

	for (size_t i = 0; i < n; i++)
		high[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, 100);
	for (size_t i = 0; i < n; i++)
		if (high[i] < 0 || dup2(high[i], targets[i]) < 0)
			_exit(99);
	if (spare >= 0)
		dup2(spare, 40);
	execl(ISOD_LAUNCH, "isod-launch", (char *)NULL);
	_exit(98);
}

void driver_start(struct driver *d)
{
	int in[2], out[2], report[2], link[2];
	const void *filter = d->filter ? d->filter : allow_all;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(report, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, link), 0);
	const int sources[] = {
		d->stdin_fd >= 0 ? fcntl(d->stdin_fd, F_DUPFD_CLOEXEC, 3) : in[0],
		out[1],
		out[1],
		sealed_plan(d),
		sealed_context(d),
		report[1],
		link[1],
		fd_sealed_new("ruleset", d->ruleset, d->ruleset_len),
		fd_sealed_new("filter", filter, d->filter ? d->filter_len : sizeof(allow_all)),
		open(d->etc, O_PATH | O_DIRECTORY | O_CLOEXEC),
		open(d->scratch, O_PATH | O_DIRECTORY | O_CLOEXEC),
		open(d->layer[0] ? d->layer : "/dev/null", O_PATH | O_CLOEXEC),
		open("/dev/null", O_RDONLY | O_CLOEXEC),
		open("/dev/null", O_RDONLY | O_CLOEXEC),
	};
	const int targets[] = { 0,
				1,
				2,
				LAUNCH_FD_PLAN,
				LAUNCH_FD_CONTEXT,
				LAUNCH_FD_REPORT,
				LAUNCH_FD_LINK,
				LAUNCH_FD_RULESET,
				LAUNCH_FD_SECCOMP,
				LAUNCH_FD_ETC,
				LAUNCH_FD_SCRATCH,
				LAUNCH_FD_LAYERS,
				LAUNCH_FD_LATE_SESSIONS,
				LAUNCH_FD_LATE_FOLDERS };

	d->outer = fork();
	assert_true(d->outer >= 0);
	if (d->outer == 0)
		become_launcher(sources, targets, ARRAY_SIZE(sources), d->spare_fd);
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++)
		if (i != 2)
			fd_close(sources[i]);
	if (d->stdin_fd >= 0)
		fd_close(in[0]);
	d->input = in[1];
	d->output = out[0];
	d->report = report[0];
	d->link = link[0];
}

int driver_report(struct driver *d)
{
	struct launch_report report;
	int failed = 0;
	ssize_t n;

	while ((n = fd_read_full(d->report, &report, sizeof(report))) == sizeof(report)) {
		if (report.type == REPORT_PID1) {
			d->pid1 = report.pid;
		} else {
			assert_int_equal(report.type, REPORT_FAILED);
			d->error = report.error;
			failed = 1;
		}
	}
	assert_int_equal(n, 0);
	return failed;
}

static void keep(struct driver *d, uint32_t type, const int *fds, size_t n)
{
	if (type == LINK_LISTENERS) {
		assert_int_equal(n, LISTENER_COUNT);
		memcpy(d->listeners, fds, sizeof(d->listeners));
	} else if (type == LINK_PTY) {
		assert_int_equal(n, 1);
		d->pty = fds[0];
	} else {
		assert_int_equal(n, 0);
	}
}

static void keep_late(struct driver *d, const struct late_event *e, size_t n)
{
	static const char *const kinds[LATE_KIND_END] = { "",      "STATE",       "REFUSED", "PLANTED", "RUNS",
							  "MOVED", "UNPROTECTED", "MORE",    "LOST" };
	size_t len = strlen(d->late), room = sizeof(d->late) - len;

	assert_true(late_event_is_valid(e, n));
	if (e->kind == LATE_STATE)
		snprintf(d->late + len, room, "STATE %u %u\n", e->way, e->reason);
	else if (e->kind == LATE_LACKING)
		snprintf(d->late + len, room, "LACKING %u %u %.*s\n", e->reason, e->count, (int)e->path_len, e->path);
	else if (e->kind == LATE_MORE)
		snprintf(d->late + len, room, "MORE %u\n", e->count);
	else
		snprintf(d->late + len, room, "%s %u %s %.*s\n", kinds[e->kind], e->group,
			 e->pid > 0    ? "here"
			 : e->pid == 0 ? "host"
				       : "unknown",
			 (int)e->path_len, e->path);
}

void driver_link(struct driver *d, uint32_t type, struct link_message *ret)
{
	do {
		union {
			struct link_message message;
			struct late_event late;
		} packet = { 0 };
		int fds[FD_PASS_MAX];
		size_t n = FD_PASS_MAX;
		ssize_t len = fd_pass_receive(d->link, &packet, sizeof(packet), fds, &n);

		assert_true(len > 0);
		*ret = packet.message;
		if (ret->type == LINK_LATE) {
			keep_late(d, &packet.late, (size_t)len);
			continue;
		}
		assert_int_equal(len, sizeof(*ret));
		keep(d, ret->type, fds, n);
	} while (ret->type != type);
}

void driver_send(struct driver *d, const struct link_message *message)
{
	assert_int_equal(fd_pass_send(d->link, message, sizeof(*message), NULL, 0), sizeof(*message));
}

void driver_output(struct driver *d)
{
	ssize_t n = fd_read_full(d->output, d->text, sizeof(d->text) - 1);

	assert_true(n >= 0);
	d->text[n] = '\0';
}

void driver_run(struct driver *d, struct link_message *ret)
{
	driver_start(d);
	d->input = fd_close(d->input);
	if (driver_report(d) != 0)
		fail_msg("%s: %s", d->error.step, d->error.message);
	driver_output(d);
	driver_link(d, LINK_EXITED, ret);
}

static void remove_folder(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	assert_int_equal(system(command), 0);
}

void driver_done(struct driver *d)
{
	int status;

	fd_close(d->link);
	fd_close(d->input);
	fd_close(d->output);
	fd_close(d->report);
	fd_close(d->pty);
	for (size_t i = 0; i < LISTENER_COUNT; i++)
		fd_close(d->listeners[i]);
	assert_int_equal(waitpid(d->outer, &status, 0), d->outer);
	if (d->pid1 > 0)
		assert_int_equal(waitpid(d->pid1, &status, 0), d->pid1);
	remove_folder(d->project);
	remove_folder(d->scratch);
	remove_folder(d->etc);
}
