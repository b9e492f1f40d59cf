#include "client/run/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

#define CHUNK 65536
/* A blocking terminal takes this much at once when poll() says that it takes anything. */
#define SMALL_CHUNK 512
/* Bytes moved before the other descriptors of the loop get their turn. */
#define TURN (1U << 20)
#define PIPE_SIZE (1 << 20)

static void begin(struct relay *r, int from, int to, int pipe_end)
{
	*r = (struct relay){ .state = RELAY_ROOM, .from = from, .to = to, .unread = -1 };
	(void)fd_set_nonblock(pipe_end, true);
	(void)fcntl(pipe_end, F_SETPIPE_SZ, PIPE_SIZE); /* fewer turns; past the user's quota the size stays */
}

void relay_input(struct relay *r, int from, int pipe_end, int other_end)
{
	struct stat st;

	begin(r, from, pipe_end, pipe_end);
	r->own_to = true;
	r->copies = isatty(from);
	if (fstat(from, &st) == 0 && S_ISREG(st.st_mode))
		r->unread = fcntl(other_end, F_DUPFD_CLOEXEC, 3);
}

void relay_output(struct relay *r, int pipe_end, int to)
{
	struct stat st = { 0 };
	int flags = fcntl(to, F_GETFL);

	begin(r, pipe_end, to, pipe_end);
	r->own_from = true;
	(void)fstat(to, &st);
	r->socket = S_ISSOCK(st.st_mode);
	r->small = !r->socket && !S_ISREG(st.st_mode) && !(flags & O_NONBLOCK);
	/* splice(2) refuses files opened for appending, and would wait for a target that blocks. */
	r->copies = r->socket || r->small || (flags & O_APPEND);
}

/* Closes all but .unread, which is of use after the end of the input. */
static void finish(struct relay *r)
{
	if (r->own_from)
		fd_close(r->from);
	if (r->own_to)
		fd_close(r->to);
	r->own_from = r->own_to = false;
	r->state = RELAY_CLOSED;
}

void relay_done(struct relay *r)
{
	finish(r);
	r->unread = fd_close(r->unread);
	free(r->data);
	r->data = NULL;
}

void relay_poll(const struct relay *r, struct pollfd p[2])
{
	/* The target is watched for its going away in both states, the source only when it may be read: its hang-up
	 * would wake the loop again and again while there is no room. */
	p[0] = (struct pollfd){ .fd = r->state == RELAY_DATA ? r->from : -1, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = r->state == RELAY_CLOSED ? -1 : r->to,
				.events = r->state == RELAY_ROOM ? POLLOUT : 0 };
}

/* A failure of the source or the target that ends the relay. */
static void fail(struct relay *r, int err)
{
	r->error = err == EPIPE || err == ECONNRESET ? 0 : err;
	finish(r);
}

/* The bytes that wait, out. True where all are gone. */
static bool flush(struct relay *r)
{
	while (r->start < r->end) {
		size_t n = r->end - r->start;
		ssize_t written;

		if (r->small && n > SMALL_CHUNK)
			n = SMALL_CHUNK;
		if (r->socket)
			written = send(r->to, r->data + r->start, n, MSG_DONTWAIT | MSG_NOSIGNAL);
		else
			written = write(r->to, r->data + r->start, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0) {
			if (errno != EAGAIN)
				fail(r, errno);
			else
				r->state = RELAY_ROOM;
			return false;
		}
		r->start += (size_t)written;
		if (r->small && r->start < r->end) {
			r->state = RELAY_ROOM;
			return false;
		}
	}
	r->start = r->end = 0;
	return true;
}

static ssize_t fill(struct relay *r)
{
	ssize_t n;

	if (!r->data)
		r->data = malloc(CHUNK);
	if (!r->data)
		return -ENOMEM;
	n = read(r->from, r->data, CHUNK);
	if (n > 0)
		r->end = (size_t)n;
	return n < 0 ? -errno : n;
}

static ssize_t move(struct relay *r)
{
	ssize_t n;

	if (!r->copies) {
		n = splice(r->from, NULL, r->to, NULL, TURN, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
		if (n >= 0 || errno != EINVAL)
			return n < 0 ? -errno : n;
		r->copies = true;
	}
	return fill(r);
}

static bool is_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) > 0;
}

void relay_step(struct relay *r, const struct pollfd p[2])
{
	size_t moved = 0;

	if (r->state == RELAY_CLOSED)
		return;
	if (p[1].revents & (POLLERR | POLLHUP | POLLNVAL)) {
		fail(r, EPIPE);
		return;
	}
	if (r->state == RELAY_ROOM) {
		if (!(p[1].revents & POLLOUT))
			return;
		r->state = RELAY_DATA;
		if (!flush(r))
			return;
		/* The source was not polled this time. */
		if (!is_ready(r->from, POLLIN))
			return;
	} else if (!p[0].revents) {
		return;
	}
	while (moved < TURN) {
		ssize_t n = move(r);

		if (n == -EINTR)
			continue;
		if (n == -EAGAIN) { /* either side: the target is asked first */
			r->state = RELAY_ROOM;
			return;
		}
		if (n < 0) {
			fail(r, (int)-n);
			return;
		}
		if (n == 0) {
			finish(r);
			return;
		}
		if (r->copies && !flush(r))
			return;
		moved += (size_t)n;
		/* A source that blocks is only read when it has something. */
		if (!is_ready(r->from, POLLIN))
			return;
	}
}

void relay_give_back(struct relay *r)
{
	int unread = 0;

	if (r->unread >= 0 && ioctl(r->unread, FIONREAD, &unread) == 0) {
		off_t back = (off_t)unread + (off_t)(r->end - r->start);

		if (back > 0)
			(void)lseek(r->from, -back, SEEK_CUR);
	}
	relay_done(r);
}
