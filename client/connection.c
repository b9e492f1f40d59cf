#include "client/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "isod_config.h"

#define STEP "connect"
#define READ_SIZE 65536

/*
 * sun_path has 108 bytes, a path 4096: the folder of a longer one is opened and the socket reached through its
 * descriptor. *ret_folder keeps it open until the connect.
 */
static int socket_address(const char *path, struct sockaddr_un *ret, int *ret_folder)
{
	const char *slash = strrchr(path, '/');
	char folder[LIMIT_PATH];
	size_t len;
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) < sizeof(ret->sun_path)) {
		memcpy(ret->sun_path, path, strlen(path));
		return 0;
	}
	len = slash ? (size_t)(slash - path) : 0;
	if (!slash || len >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, path, len);
	folder[len] = '\0';
	*ret_folder = open(len ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret_folder < 0)
		return -errno;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", *ret_folder, slash + 1);
	return n < (int)sizeof(ret->sun_path) ? 0 : -ENAMETOOLONG;
}

static int connect_error(int err, const char *path, struct error *e)
{
	switch (err) {
	case ENOENT:
	case ECONNREFUSED:
		return error_set(
			e, ERROR_SANDBOX_UNAVAILABLE, err, STEP,
			"Start it (systemctl start isod.socket), or name its socket by --socket or ISO_SOCKET.",
			"No isod listens on %s.", path);
	case EACCES:
	case EPERM:
		return error_set(e, ERROR_REFUSED, err, STEP, "Ask whoever set up isod which users may connect.",
				 "You may not open %s.", path);
	case EAGAIN:
		return error_set(e, ERROR_LIMIT, err, STEP, "Try again.", "isod on %s has too many callers waiting.",
				 path);
	default:
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, err, STEP, "", "Cannot reach isod on %s: %s.", path,
				 strerror(err));
	}
}

int connection_open(const char *path, struct connection *ret, struct error *e)
{
	_cleanup_close_ int sock = -1;
	_cleanup_close_ int folder = -1;
	struct sockaddr_un address;
	int r;

	r = socket_address(path, &address, &folder);
	if (r < 0)
		return connect_error(-r, path, e);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return connect_error(errno, path, e);
	while (connect(sock, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == EISCONN)
			break;
		if (errno != EINTR)
			return connect_error(errno, path, e);
	}
	ret->fd = take_fd(&sock);
	return 0;
}

void connection_done(struct connection *c)
{
	c->fd = fd_close(c->fd);
	c->passed = fd_close(c->passed);
	buffer_done(&c->in);
}

int connection_send(struct connection *c, const struct buffer *message, const int *fds, size_t n_fds, struct error *e)
{
	size_t sent = 0;

	while (sent < message->len) {
		ssize_t n = fd_pass_send(c->fd, message->data + sent, message->len - sent, fds, n_fds);

		if (n < 0)
			return error_set(e, ERROR_INTERNAL, (int)-n, "send", "", "isod did not take the request: %s.",
					 strerror((int)-n));
		sent += (size_t)n;
		n_fds = 0;
	}
	return 0;
}

long connection_fill(struct connection *c)
{
	size_t n_fds = 1;
	int fd = -1;
	ssize_t n;
	int r = buffer_reserve(&c->in, READ_SIZE);

	/* A message of just the limit must fit, so the last read may be a short one. */
	if (r == -EMSGSIZE && c->in.len < c->in.max)
		r = buffer_reserve(&c->in, c->in.max - c->in.len);
	if (r < 0)
		return r;
	n = fd_pass_receive(c->fd, c->in.data + c->in.len, c->in.size - c->in.len, &fd, &n_fds);
	if (n < 0)
		return n;
	if (n_fds > 0) {
		fd_close(c->passed);
		c->passed = fd;
	}
	c->in.len += (size_t)n;
	return n;
}

int connection_next(struct connection *c, struct json_document *doc, struct varlink_reply *ret, struct error *e)
{
	long used = varlink_frame(c->in.data, c->in.len, &c->seen);
	int r;

	if (used == 0)
		return 0;
	if (used < 0)
		return error_set(e, ERROR_INTERNAL, (int)-used, "reply", "", "isod sent a message that is too long.");
	r = varlink_reply_parse(c->in.data, (size_t)used - 1, doc, ret, e);
	buffer_consume(&c->in, (size_t)used);
	c->seen = 0;
	return r < 0 ? r : 1;
}

int connection_lost(struct error *e)
{
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, ECONNRESET, "connection",
			 "Look at the log of isod; `isoctl status` says whether it is back.",
			 "isod closed the connection.");
}

int connection_wait(struct connection *c, int timeout_ms, struct json_document *doc, struct varlink_reply *ret,
		    struct error *e)
{
	for (;;) {
		struct pollfd p = { .fd = c->fd, .events = POLLIN };
		int r = connection_next(c, doc, ret, e);
		long n;

		if (r != 0)
			return r < 0 ? r : 0;
		do
			r = poll(&p, 1, timeout_ms);
		while (r < 0 && errno == EINTR);
		if (r == 0)
			return error_set(e, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "reply", "Look at the log of isod.",
					 "isod did not answer within %d s.", timeout_ms / 1000);
		n = connection_fill(c);
		if (n == 0 || n == -ECONNRESET)
			return connection_lost(e);
		if (n < 0)
			return error_set(e, ERROR_INTERNAL, (int)-n, "reply", "", "Cannot read isod's answer: %s.",
					 strerror((int)-n));
	}
}

int connection_check(const struct varlink_reply *reply, struct error *e)
{
	static const char service[] = "org.varlink.service.";
	struct error told = ERROR_INIT;

	if (!reply->error)
		return 0;
	varlink_reply_error(reply, &told);
	if (strncmp(reply->error, service, sizeof(service) - 1) == 0)
		return error_set(e, ERROR_INTERNAL, EPROTO, "protocol",
				 "isod and isoctl are of different versions: install both from one release, restart "
				 "isod.",
				 "The running isod does not understand this isoctl (" ISOD_VERSION "): %s %s",
				 reply->error + sizeof(service) - 1, told.message);
	if (told.code == ERROR_NONE)
		return error_set(e, ERROR_INTERNAL, EPROTO, "protocol", "", "isod answered with the error %s.",
				 reply->error);
	if (e && e->code == ERROR_NONE)
		*e = told;
	return told.err > 0 ? -told.err : -EIO;
}
