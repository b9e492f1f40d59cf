#include "daemon/session/dns/dns_tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "daemon/session/dns/dns.h"

#define LENGTH 2
/* Replies that may wait for a client before it is read no further. */
#define OUTPUT_MAX (16U << 10)

/* Milliseconds until the next try where there was no descriptor or memory for a client. */
#define RETRY 250
/* Clients taken on in one turn of the loop. */
#define TURN_MAX 64

struct dns_client {
	TAILQ_ENTRY(dns_client) link;
	uv_tcp_t tcp;
	uv_timer_t limit; /* for a whole query */
	unsigned handles;
	struct dns_tcp *server;
	size_t len;
	uint8_t input[LENGTH + DNS_QUERY_MAX];
};

struct dns_reply {
	uv_write_t request;
	struct dns_client *client;
	uint8_t data[LENGTH + DNS_REPLY_MAX];
};

struct listener {
	uv_poll_t poll; /* and not uv_listen(): that listens no more after a client for whom there was no memory */
	int fd;
};

struct dns_tcp {
	struct dns *dns;
	struct listener listeners[2];
	uv_timer_t retry;
	unsigned handles;
	unsigned n_clients;
	TAILQ_HEAD(, dns_client) clients; /* the one that has asked last is the last */
};

static void server_release(struct dns_tcp *t)
{
	struct dns *d = t->dns;

	if (--t->handles > 0)
		return;
	free(t);
	dns_release(d);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct dns_client *c = handle->data;
	struct dns_tcp *t = c->server;

	if (--c->handles > 0)
		return;
	free(c);
	server_release(t);
}

static void client_close(struct dns_client *c)
{
	if (uv_is_closing((uv_handle_t *)&c->tcp))
		return;
	TAILQ_REMOVE(&c->server->clients, c, link);
	c->server->n_clients--;
	uv_close((uv_handle_t *)&c->tcp, on_client_closed);
	uv_close((uv_handle_t *)&c->limit, on_client_closed);
}

static void on_limit(uv_timer_t *timer)
{
	client_close(timer->data);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct dns_client *c = handle->data;

	(void)suggested;
	*ret = uv_buf_init((char *)c->input + c->len, (unsigned)(sizeof(c->input) - c->len));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void process(struct dns_client *c);

static void on_written(uv_write_t *request, int status)
{
	struct dns_reply *reply = request->data;
	struct dns_client *c = reply->client;

	free(reply);
	if (uv_is_closing((uv_handle_t *)&c->tcp))
		return;
	if (status < 0)
		client_close(c);
	else if (!uv_is_active((uv_handle_t *)&c->tcp) || c->tcp.write_queue_size < OUTPUT_MAX)
		process(c);
}

static int send_reply(struct dns_client *c, const uint8_t *query, size_t len)
{
	struct dns_reply *reply = malloc(sizeof(*reply));
	size_t n;
	uv_buf_t buf;

	if (!reply)
		return -ENOMEM;
	n = dns_answer(c->server->dns, query, len, reply->data + LENGTH);
	if (n == 0) { /* junk; over TCP its sender need not be waited for */
		free(reply);
		return -EBADMSG;
	}
	reply->data[0] = (uint8_t)(n >> 8);
	reply->data[1] = (uint8_t)n;
	reply->client = c;
	reply->request.data = reply;
	buf = uv_buf_init((char *)reply->data, (unsigned)(LENGTH + n));
	return uv_write(&reply->request, (uv_stream_t *)&c->tcp, &buf, 1, on_written);
}

/* Single bytes do not count: whoever sends only those would keep its place for ever. */
static void was_asked(struct dns_client *c)
{
	uv_timer_again(&c->limit);
	TAILQ_REMOVE(&c->server->clients, c, link);
	TAILQ_INSERT_TAIL(&c->server->clients, c, link);
}

/* Answers what is complete, as far as the client takes answers; reads on when it has taken them. */
static void process(struct dns_client *c)
{
	size_t done = 0;

	while (c->len - done >= LENGTH && c->tcp.write_queue_size < OUTPUT_MAX) {
		size_t n = (size_t)c->input[done] << 8 | c->input[done + 1];

		if (n > DNS_QUERY_MAX) {
			client_close(c);
			return;
		}
		if (c->len - done < LENGTH + n)
			break;
		if (send_reply(c, c->input + done + LENGTH, n) < 0) {
			client_close(c);
			return;
		}
		done += LENGTH + n;
		was_asked(c);
	}
	memmove(c->input, c->input + done, c->len - done);
	c->len -= done;
	if (c->len < sizeof(c->input) && c->tcp.write_queue_size < OUTPUT_MAX)
		uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
	else
		uv_read_stop((uv_stream_t *)&c->tcp);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct dns_client *c = stream->data;

	(void)buf;
	if (n < 0) {
		client_close(c);
		return;
	}
	c->len += (size_t)n;
	process(c);
}

static void serve(struct dns_tcp *t, uv_loop_t *loop, int fd)
{
	struct dns_client *c = calloc(1, sizeof(*c));

	if (!c) {
		fd_close(fd);
		return;
	}
	/* Else a few that only hold their places would keep all others out. */
	if (t->n_clients >= DNS_TCP_CLIENTS)
		client_close(TAILQ_FIRST(&t->clients));
	c->server = t;
	uv_tcp_init(loop, &c->tcp);
	uv_timer_init(loop, &c->limit);
	c->tcp.data = c->limit.data = c;
	c->handles = 2;
	t->handles++;
	t->n_clients++;
	TAILQ_INSERT_TAIL(&t->clients, c, link);
	if (uv_tcp_open(&c->tcp, fd) < 0) {
		fd_close(fd);
		client_close(c);
		return;
	}
	if (uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0) {
		client_close(c);
		return;
	}
	uv_timer_start(&c->limit, on_limit, DNS_TCP_IDLE, DNS_TCP_IDLE);
}

static void on_connection(uv_poll_t *poll, int status, int events);

static void watch(struct dns_tcp *t)
{
	for (int i = 0; i < 2; i++)
		uv_poll_start(&t->listeners[i].poll, UV_READABLE, on_connection);
}

static void on_retry(uv_timer_t *timer)
{
	watch(timer->data);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
	struct dns_tcp *t = poll->data;
	const struct listener *l = (const struct listener *)poll;

	(void)status;
	(void)events;
	for (int i = 0; i < TURN_MAX; i++) {
		int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			serve(t, poll->loop, fd);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO || errno == EPERM)
			continue;
		/* The connection stays where it is, so that the listener would be ready again at once. */
		uv_poll_stop(&t->listeners[0].poll);
		uv_poll_stop(&t->listeners[1].poll);
		uv_timer_start(&t->retry, on_retry, RETRY, 0);
		return;
	}
}

static void on_handle_closed(uv_handle_t *handle)
{
	server_release(handle->data);
}

void dns_tcp_close(struct dns_tcp *t)
{
	struct dns_client *c;

	if (!t)
		return;
	while ((c = TAILQ_FIRST(&t->clients)))
		client_close(c);
	for (int i = 0; i < 2; i++) {
		if (t->listeners[i].fd < 0)
			continue;
		uv_close((uv_handle_t *)&t->listeners[i].poll, on_handle_closed);
		t->listeners[i].fd = fd_close(t->listeners[i].fd);
	}
	uv_close((uv_handle_t *)&t->retry, on_handle_closed);
}

static int open_listener(struct dns_tcp *t, uv_loop_t *loop, struct listener *l, int fd)
{
	int r = fd_set_nonblock(fd, true);

	if (r == 0)
		r = uv_poll_init(loop, &l->poll, fd);
	if (r < 0) {
		fd_close(fd);
		return r;
	}
	l->poll.data = t;
	l->fd = fd;
	t->handles++;
	return 0;
}

int dns_tcp_open(uv_loop_t *loop, struct dns *d, const int listeners[2], struct dns_tcp **ret)
{
	struct dns_tcp *t = calloc(1, sizeof(*t));
	int r = 0;

	if (!t)
		return -ENOMEM;
	t->dns = d;
	TAILQ_INIT(&t->clients);
	dns_hold(d);
	uv_timer_init(loop, &t->retry);
	t->retry.data = t;
	t->handles = 1;
	for (int i = 0; i < 2; i++) {
		int err;

		t->listeners[i].fd = -1;
		err = open_listener(t, loop, &t->listeners[i], listeners[i]);
		if (r == 0)
			r = err;
	}
	if (r < 0) {
		dns_tcp_close(t);
		return r;
	}
	watch(t);
	*ret = t;
	return 0;
}
