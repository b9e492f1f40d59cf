#include "daemon/session/dns_tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/fd.h"
#include "daemon/session/dns.h"

#define LENGTH 2
/* Replies that may wait for a client before it is read no further. */
#define OUTPUT_MAX (16U << 10)

struct dns_client {
	LIST_ENTRY(dns_client) link;
	uv_tcp_t tcp;
	uv_timer_t idle;
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

struct dns_tcp {
	struct dns *dns;
	uv_tcp_t listeners[2];
	unsigned handles;
	unsigned n_clients;
	LIST_HEAD(, dns_client) clients;
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
	LIST_REMOVE(c, link);
	c->server->n_clients--;
	uv_close((uv_handle_t *)&c->tcp, on_client_closed);
	uv_close((uv_handle_t *)&c->idle, on_client_closed);
}

static void on_idle(uv_timer_t *timer)
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
	uv_timer_again(&c->idle);
	process(c);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct dns_tcp *t = listener->data;
	struct dns_client *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;

	if (!c)
		return;
	c->server = t;
	uv_tcp_init(listener->loop, &c->tcp);
	uv_timer_init(listener->loop, &c->idle);
	c->tcp.data = c->idle.data = c;
	c->handles = 2;
	t->handles++;
	t->n_clients++;
	LIST_INSERT_HEAD(&t->clients, c, link);
	if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || t->n_clients > DNS_TCP_CLIENTS ||
	    uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0) {
		client_close(c);
		return;
	}
	uv_timer_start(&c->idle, on_idle, DNS_TCP_IDLE, DNS_TCP_IDLE);
}

static void on_listener_closed(uv_handle_t *handle)
{
	server_release(handle->data);
}

void dns_tcp_close(struct dns_tcp *t)
{
	struct dns_client *c, *next;

	if (!t)
		return;
	for (c = LIST_FIRST(&t->clients); c; c = next) {
		next = LIST_NEXT(c, link);
		client_close(c);
	}
	for (int i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&t->listeners[i], on_listener_closed);
}

int dns_tcp_open(uv_loop_t *loop, struct dns *d, const int listeners[2], struct dns_tcp **ret)
{
	struct dns_tcp *t = calloc(1, sizeof(*t));
	int r = 0;

	if (!t)
		return -ENOMEM;
	t->dns = d;
	t->handles = 2;
	LIST_INIT(&t->clients);
	dns_hold(d);
	for (int i = 0; i < 2; i++) {
		uv_tcp_init(loop, &t->listeners[i]);
		t->listeners[i].data = t;
		if (r == 0)
			r = uv_tcp_open(&t->listeners[i], listeners[i]);
		if (r == 0)
			r = uv_listen((uv_stream_t *)&t->listeners[i], DNS_TCP_CLIENTS, on_connection);
	}
	if (r < 0) {
		dns_tcp_close(t);
		return r;
	}
	*ret = t;
	return 0;
}
