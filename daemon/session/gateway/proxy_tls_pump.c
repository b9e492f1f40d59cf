/* Bytes of a connection of the gateway into TLS records to the upstream proxy, and back: at most one record of each
 * direction is held here, and nothing more is read while it waits. */
#include <errno.h>
#include <linux/sockios.h>
#include <openssl/err.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/session/gateway/proxy_tls_client.h"

enum {
	RECORD = 16 << 10,
	TURN = 1 << 20, /* bytes in one turn, then others have theirs */
};

/* One direction. */
struct flow {
	char *held; /* what the other side has not taken yet, at most RECORD; NULL: nothing */
	size_t at, len;
	bool eof;  /* of where it comes from */
	bool done; /* and told to where it goes; or that takes no more */
};

struct proxy_tls_pump {
	struct grave grave;
	TAILQ_ENTRY(proxy_tls_pump) link;
	struct client *client;
	struct poller *poller;
	struct deadlines *deadlines;
	struct deadline deadline; /* set once .user has left */
	struct watch *user;       /* the connection's end; NULL: it has left */
	struct watch inner;       /* our end of that socket */
	struct watch outer;       /* to the proxy; -1: it is over */
	SSL *ssl;
	struct flow up, down;
	uint64_t sent; /* bytes to the proxy */
	bool open;     /* the certificate is verified, and bytes may go */
	struct proxy_tls_fault fault;
};

TAILQ_HEAD(pump_list, proxy_tls_pump);

struct client {
	struct proxy_tls tls;
	SSL_CTX *context;
	const struct egress_proxy *proxy;
	struct pump_list pumps;
	bool told; /* that TLS fails, in the log */
	char scratch[RECORD];
};

static int hold(struct flow *f, const char *data, size_t len)
{
	if (len == 0)
		return 0;
	f->held = malloc(len);
	if (!f->held)
		return -ENOMEM;
	memcpy(f->held, data, len);
	f->at = 0;
	f->len = len;
	return 0;
}

static void drop(struct flow *f)
{
	free(f->held);
	f->held = NULL;
	f->at = f->len = 0;
}

/* Closes both sockets. The pump stays until its user has left as well. */
static void finish(struct proxy_tls_pump *p)
{
	if (!p->ssl)
		return;
	deadline_clear(p->deadlines, &p->deadline);
	SSL_free(p->ssl);
	p->ssl = NULL;
	poller_close_watch(p->poller, &p->outer);
	poller_close_watch(p->poller, &p->inner);
	drop(&p->up);
	drop(&p->down);
	p->up.done = p->down.done = true;
	ERR_clear_error();
}

static void bury(struct proxy_tls_pump *p)
{
	finish(p);
	TAILQ_REMOVE(&p->client->pumps, p, link);
	poller_bury(p->poller, &p->grave);
}

/* The proxy has not ended this as TLS ends: who reads it must not take it for complete. */
static void fail(struct proxy_tls_pump *p)
{
	p->fault = proxy_tls_client_fault(p->ssl);
	if (p->user)
		p->user->cut = true;
	if (!p->open && !p->client->told) {
		p->client->told = true;
		log_warning("upstream proxy: %s: %s", p->fault.what, p->fault.why);
	}
	finish(p);
}

/* What a call that has not succeeded is waiting for; false: it has failed for good. */
static bool wait_for(struct proxy_tls_pump *p, int r)
{
	switch (SSL_get_error(p->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		p->outer.readable = false;
		return true;
	case SSL_ERROR_WANT_WRITE:
		p->outer.writable = false;
		return true;
	default:
		return false;
	}
}

/* True once it has been done. */
static bool shake_hands(struct proxy_tls_pump *p)
{
	int r;

	ERR_clear_error();
	r = SSL_do_handshake(p->ssl);
	if (r == 1)
		p->open = true;
	else if (!wait_for(p, r))
		fail(p);
	return p->open;
}

/* To the proxy. The bytes that were taken; 0: none now, or TLS has failed. */
static size_t write_out(struct proxy_tls_pump *p, const char *data, size_t len)
{
	int r;

	ERR_clear_error();
	r = SSL_write(p->ssl, data, (int)len);
	if (r > 0) {
		p->sent += (uint64_t)r;
		return (size_t)r;
	}
	if (!wait_for(p, r))
		fail(p);
	return 0;
}

static size_t write_in(struct proxy_tls_pump *p, const char *data, size_t len)
{
	ssize_t n;

	do
		n = send(p->inner.fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n >= 0)
		return (size_t)n;
	if (errno == EAGAIN) {
		p->inner.writable = false;
		return 0;
	}
	/* Nobody reads it any more. */
	drop(&p->down);
	p->down.done = true;
	return 0;
}

/* True when nothing is held any more. */
static bool flush(struct proxy_tls_pump *p, struct flow *f, const struct watch *to,
		  size_t (*write)(struct proxy_tls_pump *p, const char *data, size_t len))
{
	while (f->held && to->writable) {
		size_t n = write(p, f->held + f->at, f->len - f->at);

		if (n == 0)
			break;
		f->at += n;
		if (f->at == f->len)
			drop(f);
	}
	return !f->held && !f->done;
}

/* What was just read. Takes what does not go on at once into keeping. */
static void pass(struct proxy_tls_pump *p, struct flow *f, const struct watch *to, size_t len,
		 size_t (*write)(struct proxy_tls_pump *p, const char *data, size_t len))
{
	const char *data = p->client->scratch;
	size_t at = 0, n = 1;

	while (at < len && to->writable && n > 0) {
		n = write(p, data + at, len - at);
		at += n;
	}
	if (f->done || hold(f, data + at, len - at) == 0)
		return;
	if (p->user)
		p->user->cut = true;
	finish(p);
}

static size_t read_out(struct proxy_tls_pump *p)
{
	int r;

	ERR_clear_error();
	r = SSL_read(p->ssl, p->client->scratch, RECORD);
	if (r > 0)
		return (size_t)r;
	if (SSL_get_error(p->ssl, r) == SSL_ERROR_ZERO_RETURN)
		p->down.eof = true;
	else if (!wait_for(p, r))
		fail(p);
	return 0;
}

static size_t read_in(struct proxy_tls_pump *p)
{
	ssize_t n = recv(p->inner.fd, p->client->scratch, RECORD, MSG_DONTWAIT);

	if (n > 0)
		return (size_t)n;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		p->inner.readable = errno == EINTR;
	else
		p->up.eof = true;
	return 0;
}

/* From the proxy. True: its share of this turn is used up. */
static bool run_down(struct proxy_tls_pump *p)
{
	size_t moved = 0;

	while (flush(p, &p->down, &p->inner, write_in)) {
		size_t n;

		if (p->down.eof) {
			shutdown(p->inner.fd, SHUT_WR);
			p->down.done = true;
			return false;
		}
		if (!p->outer.readable)
			return false;
		if (moved >= TURN)
			return true;
		n = read_out(p);
		if (n == 0 && !p->down.eof)
			return false;
		moved += n;
		pass(p, &p->down, &p->inner, n, write_in);
	}
	return false;
}

/* To the proxy: likewise. */
static bool run_up(struct proxy_tls_pump *p)
{
	size_t moved = 0;

	while (flush(p, &p->up, &p->outer, write_out)) {
		size_t n;

		if (p->up.eof) {
			int r;

			ERR_clear_error();
			r = SSL_shutdown(p->ssl);
			p->up.done = r >= 0 || !wait_for(p, r);
			return false;
		}
		if (!p->inner.readable || !p->outer.writable)
			return false;
		if (moved >= TURN)
			return true;
		n = read_in(p);
		moved += n;
		pass(p, &p->up, &p->outer, n, write_out);
	}
	return false;
}

static void on_silence(struct deadline *d)
{
	bury((struct proxy_tls_pump *)((char *)d - offsetof(struct proxy_tls_pump, deadline)));
}

static void step(struct proxy_tls_pump *p)
{
	const uint64_t sent = p->sent;
	bool again;

	if (!p->ssl || (!p->open && !shake_hands(p)))
		return;
	/* First what was said last: a write may find that the proxy is gone. */
	again = run_down(p);
	again |= run_up(p);
	if (p->up.done && (p->down.done || !p->user))
		finish(p);
	if (!p->ssl && !p->user) {
		bury(p);
		return;
	}
	/* What comes meanwhile is for nobody: it keeps nothing. */
	if (!p->user && p->sent != sent)
		deadline_set(p->deadlines, &p->deadline, DEADLINE_DIAL, on_silence);
	if (again)
		poller_again(p->poller, &p->outer);
}

static void on_inner(struct watch *w)
{
	step((struct proxy_tls_pump *)((char *)w - offsetof(struct proxy_tls_pump, inner)));
}

static void on_outer(struct watch *w)
{
	step((struct proxy_tls_pump *)((char *)w - offsetof(struct proxy_tls_pump, outer)));
}

static int open_client(const struct egress_proxy *proxy, const void *ca, size_t ca_len, struct proxy_tls **ret)
{
	struct client *c = calloc(1, sizeof(*c));
	int r = c ? proxy_tls_client_context(ca, ca_len, &c->context) : -ENOMEM;

	if (r < 0) {
		free(c);
		return r;
	}
	c->tls.service = proxy_tls_service;
	c->proxy = proxy;
	TAILQ_INIT(&c->pumps);
	*ret = &c->tls;
	return 0;
}

/* With the sockets where they belong, or closed. */
static int take_sockets(struct proxy_tls_pump *p, struct watch *user, watch_fn fn)
{
	int pair[2], r;

	poller_move(p->poller, user, &p->outer, on_outer);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	r = poller_add(p->poller, &p->inner, pair[0], on_inner);
	if (r < 0) {
		fd_close(pair[1]);
		return r;
	}
	r = poller_add(p->poller, user, pair[1], fn);
	user->writable = r == 0;
	return r;
}

static int wrap(struct proxy_tls *t, struct poller *poller, struct deadlines *deadlines, struct watch *user,
		watch_fn fn, struct proxy_tls_pump **ret)
{
	struct client *c = (struct client *)t;
	struct proxy_tls_pump *p = calloc(1, sizeof(*p));
	int r;

	if (!p) {
		poller_close_watch(poller, user);
		return -ENOMEM;
	}
	*p = (struct proxy_tls_pump){ .client = c,
				      .poller = poller,
				      .deadlines = deadlines,
				      .user = user,
				      .inner = WATCH_INIT,
				      .outer = WATCH_INIT };
	r = take_sockets(p, user, fn);
	if (r == 0) {
		p->ssl = proxy_tls_client_new(c->context, c->proxy, p->outer.fd);
		r = p->ssl ? 0 : -ENOMEM;
	}
	if (r < 0) {
		poller_close_watch(poller, user);
		poller_close_watch(poller, &p->inner);
		poller_close_watch(poller, &p->outer);
		poller_bury(poller, &p->grave);
		return r;
	}
	p->outer.readable = p->outer.writable = p->inner.writable = true;
	TAILQ_INSERT_TAIL(&c->pumps, p, link);
	*ret = p;
	step(p);
	return 0;
}

static struct proxy_tls_fault fault(const struct proxy_tls_pump *p)
{
	return p->fault;
}

static void leave(struct proxy_tls_pump *p)
{
	p->user = NULL;
	if (!p->open || !p->ssl)
		bury(p);
	else
		deadline_set(p->deadlines, &p->deadline, DEADLINE_DIAL, on_silence);
}

static bool is_delivered(const struct proxy_tls *t)
{
	const struct client *c = (const struct client *)t;
	const struct proxy_tls_pump *p;

	TAILQ_FOREACH (p, &c->pumps, link) {
		int unsent = 0;

		if (p->ssl && (!p->up.done || (ioctl(p->outer.fd, SIOCOUTQ, &unsent) == 0 && unsent > 0)))
			return false;
	}
	return true;
}

static void close_client(struct proxy_tls *t)
{
	struct client *c = (struct client *)t;
	struct proxy_tls_pump *p;

	while ((p = TAILQ_FIRST(&c->pumps)))
		bury(p);
	SSL_CTX_free(c->context);
	free(c);
}

static const struct proxy_tls_service service = { open_client, wrap, fault, leave, is_delivered, close_client };
const struct proxy_tls_service *const proxy_tls_service = &service;
