/* isod-control: the Varlink server. Started by isod with the descriptors of daemon/wire/fds.h, as root for as long as
 * it takes to read two options. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/number.h"
#include "daemon/control/caller.h"
#include "daemon/control/control.h"
#include "daemon/control/rights.h"
#include "daemon/wire/fds.h"
#include "policy/policy.h"
#include "policy/policy_digest.h"

struct options {
	uint64_t uid;
	uint64_t gid;
};

static int parse_options(int argc, char **argv, struct options *ret)
{
	static const struct option known[] = {
		{ "uid", required_argument, NULL, 'u' },
		{ "gid", required_argument, NULL, 'g' },
		{ NULL, 0, NULL, 0 },
	};
	struct options o = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		uint64_t *number = c == 'u' ? &o.uid : c == 'g' ? &o.gid : NULL;

		if (!number || number_parse_u64(optarg, UINT32_MAX - 1, number) < 0)
			return -EINVAL;
	}
	if (optind != argc || o.uid == 0 || o.gid == 0)
		return -EINVAL;
	*ret = o;
	return 0;
}

/* What isod hands over, and nothing else. */
static int check_descriptors(void)
{
	struct stat st;
	int type = 0;
	socklen_t size = sizeof(type);

	if (getsockopt(CONTROL_FD_MONITOR, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET)
		return -EBADF;
	if (fstat(CONTROL_FD_AUDIT, &st) < 0 || !S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (fstat(CONTROL_FD_CONFIG, &st) < 0)
		return -errno;
	for (int fd = CONTROL_FD_MONITOR; fd < CONTROL_FD_END; fd++) {
		int r = fd_set_cloexec(fd, true);

		if (r < 0)
			return r;
	}
	return fd_close_from(CONTROL_FD_END);
}

/* Two or three for each session and one for each connection; the soft limit is 1024 on most machines. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* isod ends this program by closing its channel, so that the last lines of the log are written. A terminal that isod
 * was started from must not end it before. */
static void ignore_signals(void)
{
	static const int signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_IGN);
}

/* The first start must not pay for what libraries set up once: NSS modules, hash providers. */
static void warm_up(void)
{
	_cleanup_caller_ struct caller caller = CALLER_INIT;
	struct policy policy = { 0 };
	char digest[65];

	if (caller_look_up(getuid(), getgid(), &caller, NULL) < 0)
		log_warning("the user database cannot be read");
	if (policy_load(NULL, 0, &policy, NULL) < 0 || policy_digest(&policy, digest) < 0)
		log_warning("the built-in policy cannot be used");
	policy_done(&policy);
}

static int serve(void)
{
	static struct control control;
	uv_loop_t loop;
	int r = uv_loop_init(&loop);

	if (r < 0)
		return r;
	warm_up();
	r = control_open(&control, &loop, CONTROL_FD_MONITOR, CONTROL_FD_AUDIT, CONTROL_FD_CONFIG);
	if (r < 0)
		return r;
	uv_run(&loop, UV_RUN_DEFAULT);
	r = control.monitor.failed;
	control_close(&control);
	uv_run(&loop, UV_RUN_DEFAULT);
	control_done(&control);
	uv_loop_close(&loop);
	/* The end of the channel is how isod ends this program. */
	return r == -ENOTCONN || r == -ECONNRESET || r == -EPIPE ? 0 : r;
}

int main(int argc, char **argv)
{
	struct options options;
	struct error e = ERROR_INIT;
	int r;

	log_open("isod-control", LOG_LEVEL_INFO);
	if (parse_options(argc, argv, &options) < 0) {
		fprintf(stderr, "isod-control is started by isod: isod-control --uid N --gid N, neither of them 0\n");
		return 2;
	}
	raise_descriptor_limit();
	ignore_signals();
	r = rights_drop((uid_t)options.uid, (gid_t)options.gid, &e);
	if (r == 0) {
		r = check_descriptors();
		if (r < 0)
			error_set(&e, ERROR_INVALID, -r, "descriptors", NULL,
				  "isod-control was not started with the descriptors that it needs.");
	}
	if (r == 0)
		r = rights_confine(CONTROL_FD_AUDIT, &e);
	if (r < 0) {
		log_error("%s: %s (%s)", e.step, e.message, strerror(-r));
		return 1;
	}
	r = serve();
	if (r < 0)
		log_error("the channel to isod failed: %s", strerror(-r));
	return r < 0 ? 1 : 0;
}
