#include "daemon/session/gateway/stub.h"

#include <ares.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <sys/stat.h>

/* Milliseconds for the first try of a server; those after it take longer. */
enum { TRY_MS = 3000, TRIES = 3 };

struct stub_socket {
	uv_poll_t poll;
	LIST_ENTRY(stub_socket) link;
	struct stub *stub;
	int fd;
};

struct question {
	TAILQ_ENTRY(question) link; /* while .done */
	struct stub *stub;
	stub_fn fn;
	void *data;
	int family;
	struct stub_answer answer;
	char name[];
};

struct stub {
	uv_loop_t *loop;
	ares_channel channel; /* NULL: not made yet */
	uv_timer_t timer;     /* of the library's */
	uv_timer_t deliver;   /* runs out at once: no callback comes from within the library, or within stub_ask() */
	unsigned handles;
	unsigned open; /* questions */
	bool closing;
	struct stat conf; /* resolv.conf as it was read */
	LIST_HEAD(, stub_socket) sockets;
	TAILQ_HEAD(, question) done;
};

static void on_handle_closed(uv_handle_t *handle)
{
	struct stub *s = handle->data;

	if (--s->handles == 0)
		free(s);
}

static void on_socket_closed(uv_handle_t *handle)
{
	struct stub_socket *socket = handle->data;
	struct stub *s = socket->stub;

	free(socket);
	if (--s->handles == 0)
		free(s);
}

struct stub *stub_new(uv_loop_t *loop)
{
	struct stub *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->loop = loop;
	uv_timer_init(loop, &s->timer);
	uv_timer_init(loop, &s->deliver);
	s->timer.data = s->deliver.data = s;
	s->handles = 2;
	LIST_INIT(&s->sockets);
	TAILQ_INIT(&s->done);
	return s;
}

static void on_timer(uv_timer_t *timer);

static void arm(struct stub *s)
{
	struct timeval left;

	if (s->closing)
		return;
	if (ares_timeout(s->channel, NULL, &left))
		uv_timer_start(&s->timer, on_timer, (uint64_t)left.tv_sec * 1000 + (uint64_t)left.tv_usec / 1000 + 1,
			       0);
	else
		uv_timer_stop(&s->timer);
}

static void on_timer(uv_timer_t *timer)
{
	struct stub *s = timer->data;

	ares_process_fd(s->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	arm(s);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
	struct stub_socket *socket = poll->data;
	struct stub *s = socket->stub;

	/* An error is met by reading or writing. */
	if (status < 0)
		events = UV_READABLE | UV_WRITABLE;
	ares_process_fd(s->channel, events & UV_READABLE ? socket->fd : ARES_SOCKET_BAD,
			events & UV_WRITABLE ? socket->fd : ARES_SOCKET_BAD);
	arm(s);
}

static void on_state(void *data, ares_socket_t fd, int readable, int writable)
{
	struct stub *s = data;
	struct stub_socket *socket;

	LIST_FOREACH (socket, &s->sockets, link)
		if (socket->fd == fd)
			break;
	if (!readable && !writable) {
		if (!socket)
			return;
		LIST_REMOVE(socket, link);
		uv_close((uv_handle_t *)&socket->poll, on_socket_closed);
		return;
	}
	if (!socket) {
		socket = calloc(1, sizeof(*socket));
		if (!socket || uv_poll_init(s->loop, &socket->poll, fd) < 0) {
			/* The question runs into the library's time limit. */
			free(socket);
			return;
		}
		socket->stub = s;
		socket->fd = fd;
		socket->poll.data = socket;
		s->handles++;
		LIST_INSERT_HEAD(&s->sockets, socket, link);
	}
	uv_poll_start(&socket->poll, (readable ? UV_READABLE : 0) | (writable ? UV_WRITABLE : 0), on_socket);
}

static void on_deliver(uv_timer_t *timer)
{
	struct stub *s = timer->data;
	struct question *q;

	while ((q = TAILQ_FIRST(&s->done))) {
		TAILQ_REMOVE(&s->done, q, link);
		s->open--;
		q->fn(q->data, &q->answer);
		free(q);
	}
}

/* Old versions of the library take their numbers from rand(3) where /dev/urandom cannot be read. */
static void seed(void)
{
	static bool seeded;
	unsigned value;

	if (!seeded && getrandom(&value, sizeof(value), 0) == sizeof(value))
		srand(value);
	seeded = true;
}

static int open_channel(struct stub *s, ares_channel *ret)
{
	struct ares_options options = { .flags = ARES_FLAG_NOSEARCH,
					.timeout = TRY_MS,
					.tries = TRIES,
					.sock_state_cb = on_state,
					.sock_state_cb_data = s };
	/* No search domains, by their number: 1.18 does not ask ARES_FLAG_NOSEARCH. */
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB | ARES_OPT_DOMAINS;

#ifdef ARES_OPT_QUERY_CACHE
	/* We have a bound of our own. */
	mask |= ARES_OPT_QUERY_CACHE;
	options.qcache_max_ttl = 0;
#endif
	seed();
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		return -ENOMEM;
	return ares_init_options(ret, &options, mask) == ARES_SUCCESS ? 0 : -ENOMEM;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* resolv.conf as it is now. Questions under way are asked again where it now leads. */
static int follow_conf(struct stub *s)
{
	ares_channel fresh, old = s->channel;
	struct stat now = { 0 };
	int r;

	(void)stat("/etc/resolv.conf", &now);
	if (old && is_same_file(&now, &s->conf))
		return 0;
	r = open_channel(s, &fresh);
	if (r < 0)
		return old ? 0 : r;
	s->conf = now;
	s->channel = fresh;
	if (old)
		ares_destroy(old);
	return 0;
}

static uint32_t seconds_of(const struct ares_addrinfo *found)
{
	int least = LIMIT_ANSWER_SECONDS;

	for (const struct ares_addrinfo_cname *c = found->cnames; c; c = c->next)
		least = c->ttl < least ? c->ttl : least;
	for (const struct ares_addrinfo_node *n = found->nodes; n; n = n->ai_next)
		least = n->ai_ttl < least ? n->ai_ttl : least;
	return least < 0 ? 0 : (uint32_t)least;
}

static void take(struct stub_answer *answer, const struct ares_addrinfo *found)
{
	for (const struct ares_addrinfo_node *n = found->nodes; n && answer->n < LIMIT_ANSWER_ADDRESSES;
	     n = n->ai_next) {
		uint8_t *to = answer->addresses[answer->n].address;

		if (n->ai_family == AF_INET)
			memcpy(to, &((const struct sockaddr_in *)(const void *)n->ai_addr)->sin_addr, 4);
		else if (n->ai_family == AF_INET6)
			memcpy(to, &((const struct sockaddr_in6 *)(const void *)n->ai_addr)->sin6_addr, 16);
		else
			continue;
		answer->addresses[answer->n++].family = (uint8_t)n->ai_family;
	}
	answer->seconds = seconds_of(found);
}

static void start(struct question *q);

static void on_found(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
	struct question *q = data;
	struct stub *s = q->stub;

	(void)timeouts;
	/* Its channel has gone, see follow_conf(). */
	if (status == ARES_EDESTRUCTION && !s->closing) {
		start(q);
		return;
	}
	if (status == ARES_SUCCESS && found)
		take(&q->answer, found);
	else if (status == ARES_ENOTFOUND || status == ARES_ENODATA)
		q->answer.seconds = LIMIT_NO_ANSWER_SECONDS;
	if (found)
		ares_freeaddrinfo(found);
	TAILQ_INSERT_TAIL(&s->done, q, link);
	if (!s->closing)
		uv_timer_start(&s->deliver, on_deliver, 0, 0);
}

static void start(struct question *q)
{
	struct ares_addrinfo_hints hints = { .ai_family = q->family, .ai_socktype = SOCK_STREAM };

	ares_getaddrinfo(q->stub->channel, q->name, NULL, &hints, on_found, q);
}

int stub_ask(struct stub *s, const char *name, int family, stub_fn fn, void *data)
{
	struct question *q;
	int r;

	if (s->open >= LIMIT_LOOKUPS)
		return -ENOBUFS;
	r = follow_conf(s);
	if (r < 0)
		return r;
	q = calloc(1, sizeof(*q) + strlen(name) + 1);
	if (!q)
		return -ENOMEM;
	q->stub = s;
	q->fn = fn;
	q->data = data;
	q->family = family;
	memcpy(q->name, name, strlen(name));
	s->open++;
	start(q);
	arm(s);
	return 0;
}

void stub_close(struct stub *s)
{
	if (!s)
		return;
	s->closing = true;
	if (s->channel)
		ares_destroy(s->channel);
	on_deliver(&s->deliver);
	uv_close((uv_handle_t *)&s->timer, on_handle_closed);
	uv_close((uv_handle_t *)&s->deliver, on_handle_closed);
}
