#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "daemon/monitor/monitor.h"
#include "isod_config.h"

/* Nothing that a caller left open or set up may reach a helper. *ret_files: the soft limit before it is raised. */
static int tidy_process(rlim_t *ret_files)
{
	struct rlimit files;
	sigset_t none;
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (fd < 0 || syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	close(fd);
	umask(077);
	sigemptyset(&none);
	/* An ignored SIGCHLD is inherited, and children would then leave nothing to wait for. */
	if (signal(SIGCHLD, SIG_DFL) == SIG_ERR || signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0 || getrlimit(RLIMIT_NOFILE, &files) < 0)
		return -errno;
	*ret_files = files.rlim_cur;
	files.rlim_cur = files.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files) < 0 ? -errno : 0;
}

static int fail(const struct error *e)
{
	log_error("%s%s%s", e->message, e->remedy[0] ? " " : "", e->remedy);
	return 1;
}

int main(int argc, char *argv[])
{
	static struct monitor monitor;
	struct options options;
	struct error e = ERROR_INIT;
	char complaint[256];
	rlim_t files = 0;
	int r;

	log_open("isod", LOG_LEVEL_INFO);
	if (options_parse(argc, argv, &options, complaint, sizeof(complaint)) < 0) {
		log_error("%s", complaint);
		fputs(options_usage, stderr);
		return 2;
	}
	if (options.version || options.help) {
		fputs(options.help ? options_usage : "isod " ISOD_VERSION "\n", stdout);
		return 0;
	}
	if (geteuid() != 0) {
		log_error("isod must be started by root.");
		return 1;
	}
	r = tidy_process(&files);
	if (r < 0) {
		log_error("isod cannot set itself up: %s", strerror(-r));
		return 1;
	}
	r = monitor_open(&monitor, &options, &e);
	monitor.files_soft = files;
	if (r == 0)
		r = monitor_run(&monitor, &e);
	monitor_done(&monitor);
	return r < 0 ? fail(&e) : 0;
}
