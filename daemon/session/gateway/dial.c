#include "daemon/session/gateway/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"

enum { ATTEMPTS_AT_ONCE = 4 };

struct attempt {
	struct watch watch;
	struct dial *dial;
	uint32_t index; /* of the address */
};

struct dial {
	struct grave grave;
	struct resolver *resolver;
	struct poller *poller;
	struct deadlines *deadlines;
	const struct target *target;
	dial_fn fn;
	void *data;
	enum dial_state state;
	uint32_t reason;
	int error;
	struct resolve *resolve;
	struct resolved resolved;
	uint32_t next; /* address to try next */
	struct attempt attempts[ATTEMPTS_AT_ONCE];
	struct attempt *won;
	struct deadline stagger;
	struct deadline limit;
};

static bool try_next(struct dial *d);

struct dial *dial_new(struct resolver *resolver, struct poller *poller, struct deadlines *deadlines,
		      const struct target *target, dial_fn fn, void *data)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->resolver = resolver;
	d->poller = poller;
	d->deadlines = deadlines;
	d->target = target;
	d->fn = fn;
	d->data = data;
	d->reason = EGRESS_UNREACHABLE;
	for (int i = 0; i < ATTEMPTS_AT_ONCE; i++) {
		d->attempts[i].dial = d;
		d->attempts[i].watch.fd = -1;
	}
	return d;
}

static void stop(struct dial *d)
{
	if (d->resolve)
		resolve_cancel(d->resolve);
	d->resolve = NULL;
	deadline_clear(d->deadlines, &d->stagger);
	deadline_clear(d->deadlines, &d->limit);
	for (int i = 0; i < ATTEMPTS_AT_ONCE; i++)
		if (&d->attempts[i] != d->won)
			poller_close_watch(d->poller, &d->attempts[i].watch);
}

void dial_free(struct dial *d)
{
	if (!d)
		return;
	d->won = NULL;
	stop(d);
	poller_bury(d->poller, &d->grave);
}

enum dial_state dial_state(const struct dial *d)
{
	return d->state;
}

uint32_t dial_reason(const struct dial *d)
{
	return d->reason;
}

int dial_error(const struct dial *d)
{
	return d->error;
}

static void end(struct dial *d, enum dial_state state)
{
	d->state = state;
	if (state != DIAL_RESOLVED)
		stop(d);
	d->fn(d->data);
}

static void on_limit(struct deadline *limit)
{
	struct dial *d = (struct dial *)((char *)limit - offsetof(struct dial, limit));

	if (d->resolve)
		d->reason = EGRESS_UNRESOLVED;
	end(d, DIAL_FAILED);
}

static void on_resolved(void *data, const struct resolved *result)
{
	struct dial *d = data;

	d->resolve = NULL;
	deadline_clear(d->deadlines, &d->limit);
	d->resolved = *result;
	if (result->n == 0)
		d->reason = result->reason;
	end(d, result->n > 0 ? DIAL_RESOLVED : DIAL_FAILED);
}

enum dial_state dial_resolve(struct dial *d)
{
	int r = resolve_start(d->resolver, d->target, &d->resolved, on_resolved, d, &d->resolve);

	if (r == 0) {
		deadline_set(d->deadlines, &d->limit, DEADLINE_DIAL, on_limit);
		return d->state = DIAL_PENDING;
	}
	if (r < 0 || d->resolved.n == 0) {
		d->reason = r < 0 ? EGRESS_UNRESOLVED : d->resolved.reason;
		return d->state = DIAL_FAILED;
	}
	return d->state = DIAL_RESOLVED;
}

static bool any_under_way(const struct dial *d)
{
	for (int i = 0; i < ATTEMPTS_AT_ONCE; i++)
		if (d->attempts[i].watch.fd >= 0)
			return true;
	return false;
}

static struct attempt *free_place(struct dial *d)
{
	for (int i = 0; i < ATTEMPTS_AT_ONCE; i++)
		if (d->attempts[i].watch.fd < 0)
			return &d->attempts[i];
	return NULL;
}

static void give_up_oldest(struct dial *d)
{
	struct attempt *oldest = &d->attempts[0];

	for (int i = 1; i < ATTEMPTS_AT_ONCE; i++)
		if (d->attempts[i].index < oldest->index)
			oldest = &d->attempts[i];
	poller_close_watch(d->poller, &oldest->watch);
	d->error = ETIMEDOUT;
}

static void on_stagger(struct deadline *stagger)
{
	struct dial *d = (struct dial *)((char *)stagger - offsetof(struct dial, stagger));

	/* The last one may have got the place of one that failed meanwhile. */
	if (d->next < d->resolved.n && !free_place(d))
		give_up_oldest(d);
	if (!try_next(d))
		end(d, DIAL_FAILED);
}

static void on_attempt(struct watch *w)
{
	struct attempt *a = (struct attempt *)((char *)w - offsetof(struct attempt, watch));
	struct dial *d = a->dial;
	socklen_t len = sizeof(int);
	int err = 0;

	if (!w->writable && !w->hangup)
		return;
	/* A failure is a hang-up as well: without one there is nothing to ask. */
	if (w->hangup && getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		err = errno;
	if (err == 0) {
		d->won = a;
		end(d, DIAL_CONNECTED);
		return;
	}
	d->error = err;
	poller_close_watch(d->poller, w);
	if (!try_next(d))
		end(d, DIAL_FAILED);
}

static socklen_t make_address(const struct dial *d, uint32_t i, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (d->resolved.addresses[i].family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		in->sin_port = htons(d->target->port);
		memcpy(&in->sin_addr, d->resolved.addresses[i].address, 4);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(d->target->port);
	memcpy(&in6->sin6_addr, d->resolved.addresses[i].address, 16);
	return sizeof(*in6);
}

/* Want of something on our side, which the host is not to blame for. */
static bool is_shortage(int err)
{
	return err == EMFILE || err == ENFILE || err == ENOBUFS || err == ENOMEM || err == ENOSPC ||
	       err == EADDRNOTAVAIL;
}

static int start_attempt(struct dial *d, struct attempt *a, uint32_t index)
{
	struct sockaddr_storage address;
	socklen_t len = make_address(d, index, &address);
	static const int on = 1;
	int fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (connect(fd, (struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS) {
		int err = errno;

		fd_close(fd);
		return -err;
	}
	a->index = index;
	r = poller_add(d->poller, &a->watch, fd, on_attempt);
	a->watch.is_sole = r == 0;
	return r;
}

/* True while there is an attempt to wait for. */
static bool try_next(struct dial *d)
{
	while (d->next < d->resolved.n) {
		struct attempt *a = free_place(d);
		int r;

		if (!a)
			return true;
		r = start_attempt(d, a, d->next++);
		if (r == 0) {
			if (d->next < d->resolved.n)
				deadline_set(d->deadlines, &d->stagger,
					     free_place(d) ? DEADLINE_ATTEMPT : DEADLINE_PATIENCE, on_stagger);
			return true;
		}
		d->error = -r;
		if (is_shortage(d->error))
			d->reason = EGRESS_LIMIT;
	}
	return any_under_way(d);
}

enum dial_state dial_connect(struct dial *d)
{
	d->next = 0;
	d->reason = EGRESS_UNREACHABLE;
	if (!try_next(d))
		return d->state = DIAL_FAILED;
	deadline_set(d->deadlines, &d->limit, DEADLINE_DIAL, on_limit);
	return d->state = DIAL_PENDING;
}

void dial_judge(const struct dial *d, struct egress_verdict *ret)
{
	*ret = (struct egress_verdict){ .allowed = true, .rule = EGRESS_NO_RULE };
	for (uint32_t i = 0; ret->allowed && i < d->resolved.n; i++)
		resolve_judge(d->resolver, d->target, d->resolved.addresses[i].family, d->resolved.addresses[i].address,
			      ret);
}

void dial_take(struct dial *d, struct watch *w, watch_fn fn, uint8_t *ret_family, uint8_t ret_address[16])
{
	*ret_family = d->resolved.addresses[d->won->index].family;
	memcpy(ret_address, d->resolved.addresses[d->won->index].address, 16);
	poller_move(d->poller, &d->won->watch, w, fn);
}
