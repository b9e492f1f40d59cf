#include "daemon/control/connection_out.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "json/write.h"
#include "proto/varlink.h"

/* Above this nothing more is made until the client has read. */
#define OUT_FULL (256U << 10)
/* One reply of full size on top of that. */
#define OUT_MAX (LIMIT_MESSAGE + 2 * OUT_FULL)
/* What a reply needs behind the list in it: further members and brackets. */
#define REPLY_END 1024

void connection_out_init(struct connection *c)
{
	c->out.max = OUT_MAX;
}

bool connection_is_full(const struct connection *c)
{
	return c->out.len - c->out_at >= OUT_FULL;
}

void connection_reply_descriptor(struct connection *c, int fd)
{
	/* Two that wait: it reads none of its replies. */
	if (c->reply_fd >= 0 || c->state == CONNECTION_DEAD) {
		fd_close(fd);
		connection_drop(c);
		return;
	}
	c->reply_fd = fd;
	c->reply_fd_at = c->out.len;
}

/* What goes out in one piece: up to the byte that a descriptor travels with, or from it on. */
static ssize_t write_some(struct connection *c)
{
	size_t end = c->out.len;
	bool pass = c->reply_fd >= 0 && c->out_at == c->reply_fd_at;
	ssize_t n;

	if (c->reply_fd >= 0 && c->out_at < c->reply_fd_at)
		end = c->reply_fd_at;
	n = fd_pass_send(c->fd, c->out.data + c->out_at, end - c->out_at, &c->reply_fd, pass);
	if (n > 0 && pass)
		c->reply_fd = fd_close(c->reply_fd);
	return n;
}

static void drop_front(struct connection *c)
{
	buffer_consume(&c->out, c->out_at);
	c->reply_fd_at -= c->reply_fd >= 0 ? c->out_at : 0;
	c->out_at = 0;
}

int connection_write(struct connection *c)
{
	while (c->out_at < c->out.len) {
		ssize_t n = write_some(c);

		if (n == -EAGAIN)
			break;
		if (n < 0)
			return (int)n;
		c->out_at += (size_t)n;
	}
	if (c->out_at == c->out.len) {
		buffer_done(&c->out);
		c->out_at = 0;
	} else if (c->out_at > OUT_FULL) {
		drop_front(c);
	}
	return 0;
}

struct json_writer *connection_reply_begin(struct connection *c, bool continues)
{
	c->reply_mark = c->out.len;
	return varlink_reply_begin(&c->out, continues);
}

static void finish(struct connection *c, int r)
{
	if (c->state == CONNECTION_DEAD)
		return;
	if (r < 0) {
		connection_drop(c);
		return;
	}
	if (c->oneway)
		c->out.len = c->reply_mark;
	connection_flush(c);
}

bool connection_reply_has_room(const struct connection *c, size_t bytes)
{
	return c->out.len - c->reply_mark + bytes <= LIMIT_MESSAGE - REPLY_END;
}

static void refuse_too_large(struct connection *c)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_LIMIT, EMSGSIZE, "reply", "Ask about less, or with shorter policies.",
		  "The answer would be larger than %u MiB.", LIMIT_MESSAGE >> 20);
	c->out.len = c->reply_mark;
	connection_reply_error(c, &e);
}

void connection_reply_end(struct connection *c, struct json_writer *w)
{
	/* Not for what waits before it: who reads nothing is dropped. */
	bool alone = c->reply_mark - c->out_at < OUT_FULL;
	int r = varlink_end(w, &c->out);

	if (c->state != CONNECTION_DEAD && alone &&
	    (r == -EMSGSIZE || (r == 0 && c->out.len - c->reply_mark > LIMIT_MESSAGE)))
		refuse_too_large(c);
	else
		finish(c, r);
}

void connection_reply_error(struct connection *c, const struct error *e)
{
	c->reply_mark = c->out.len;
	finish(c, varlink_error_append(&c->out, e));
}

void connection_reply_service_error(struct connection *c, const char *name, const char *member, const char *value)
{
	c->reply_mark = c->out.len;
	finish(c, varlink_service_error_append(&c->out, name, member, value));
}
