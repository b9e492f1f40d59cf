#include "daemon/monitor/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/number.h"

/* One turn of the loop accepts no more than this, so that sessions are served in a flood of connections. */
#define ACCEPT_BATCH 64
#define PAUSE_MS 100
#define ACTIVATION_FD 3

static int fill_address(const char *path, struct sockaddr_un *ret, struct error *e)
{
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_set(e, ERROR_INVALID, ENAMETOOLONG, "socket", "Choose a shorter path with --socket.",
				 "The path of the socket is longer than %zu bytes.", sizeof(ret->sun_path) - 1);
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

/* 0 where the path is free now. */
static int clear_stale(const struct sockaddr_un *address, struct error *e)
{
	_cleanup_close_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (sock < 0)
		return error_set(e, ERROR_INTERNAL, errno, "socket", "", "No socket: %s.", strerror(errno));
	if (lstat(address->sun_path, &st) < 0 && errno == ENOENT)
		return 0;
	if (connect(sock, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return error_set(e, ERROR_REFUSED, EADDRINUSE, "socket", "Stop it first, or choose another --socket.",
				 "Another isod listens on %s.", address->sun_path);
	if (errno != ECONNREFUSED || !S_ISSOCK(st.st_mode))
		return error_set(e, ERROR_REFUSED, EADDRINUSE, "socket", "Remove it, or choose another --socket.",
				 "%s exists and is no socket of isod.", address->sun_path);
	if (unlink(address->sun_path) < 0)
		return error_set(e, ERROR_REFUSED, errno, "socket", "", "%s cannot be removed: %s.", address->sun_path,
				 strerror(errno));
	return 0;
}

int listener_bind(const char *path, struct error *e)
{
	_cleanup_close_ int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	mode_t mask;
	int r = fill_address(path, &address, e);

	if (r < 0)
		return r;
	r = clear_stale(&address, e);
	if (r < 0)
		return r;
	mask = umask(0111);
	r = sock < 0 || bind(sock, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (r == 0 && listen(sock, SOMAXCONN) < 0)
		r = -errno;
	if (r < 0)
		return error_set(e, ERROR_REFUSED, -r, "socket", "", "isod cannot listen on %s: %s.", path,
				 strerror(-r));
	return take_fd(&sock);
}

int listener_inherit(struct error *e)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int type = 0, domain = 0, listening = 0;
	socklen_t len = sizeof(int);
	uint64_t number;

	if (!pid || !count || number_parse_u64(pid, INT32_MAX, &number) < 0 || (pid_t)number != getpid())
		return -ENOENT;
	if (number_parse_u64(count, INT32_MAX, &number) < 0 || number != 1)
		return error_set(e, ERROR_INVALID, EINVAL, "socket activation", "Give isod.service one socket.",
				 "LISTEN_FDS is %s and not 1.", count);
	if (getsockopt(ACTIVATION_FD, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_UNIX ||
	    getsockopt(ACTIVATION_FD, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_STREAM ||
	    getsockopt(ACTIVATION_FD, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len) < 0 || !listening)
		return error_set(e, ERROR_INVALID, EINVAL, "socket activation",
				 "Use ListenStream= with an absolute path.",
				 "Descriptor 3 is not a listening Unix stream socket.");
	fd_set_cloexec(ACTIVATION_FD, true);
	fd_set_nonblock(ACTIVATION_FD, true);
	return ACTIVATION_FD;
}

static void apply(struct listener *l);

static void on_pause_over(uv_timer_t *timer)
{
	apply(timer->data);
}

/* The connection stays in the kernel's queue and the descriptor readable: without the pause the loop would spin. */
static void pause_after(struct listener *l, int error)
{
	log_warning("accept: %s; accepting again in %d ms", strerror(error), PAUSE_MS);
	uv_poll_stop(&l->poll);
	uv_timer_start(&l->pause, on_pause_over, PAUSE_MS, 0);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct listener *l = poll->data;

	/* libuv has stopped watching then. */
	if (status < 0) {
		pause_after(l, -status);
		return;
	}
	for (unsigned i = 0; i < ACCEPT_BATCH && l->wanted; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			l->on_connection(l, fd);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		pause_after(l, errno);
		return;
	}
}

static void apply(struct listener *l)
{
	if (l->wanted && !uv_is_active((uv_handle_t *)&l->pause))
		uv_poll_start(&l->poll, UV_READABLE, on_readable);
	else
		uv_poll_stop(&l->poll);
}

int listener_open(struct listener *l, uv_loop_t *loop, int fd, const char *path)
{
	int r = uv_poll_init(loop, &l->poll, fd);

	if (r < 0)
		return r;
	uv_timer_init(loop, &l->pause);
	l->poll.data = l->pause.data = l;
	l->fd = fd;
	l->path = path;
	l->wanted = false;
	return 0;
}

void listener_accept(struct listener *l, bool on)
{
	if (l->wanted == on)
		return;
	l->wanted = on;
	apply(l);
}

void listener_close(struct listener *l)
{
	if (l->fd < 0)
		return;
	l->wanted = false;
	if (l->path)
		unlink(l->path);
	uv_close((uv_handle_t *)&l->poll, NULL);
	uv_close((uv_handle_t *)&l->pause, NULL);
	l->fd = fd_close(l->fd);
}
