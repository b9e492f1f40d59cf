#include "daemon/session/gateway/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/session/gateway/own_address.h"

/* One that waits for a look-up. */
struct resolve {
	TAILQ_ENTRY(resolve) link;
	struct lookup *lookup;
	const struct egress_rules *rules;
	const struct target *target;
	resolve_fn fn;
	void *data;
};

struct lookup {
	uv_getaddrinfo_t request;
	LIST_ENTRY(lookup) link;
	TAILQ_HEAD(resolve_list, resolve) waiting;
	bool listed; /* more may wait for it */
	char name[HOSTNAME_MAX + 1];
};

/* An ordinary address that is the machine's own is judged like a private one. */
static bool is_unnamed_own(const struct egress_rules *rules, const struct target *t, int family, const uint8_t *address)
{
	struct egress_target literal = { .family = (uint8_t)family, .port = t->port };
	struct egress_verdict v;

	memcpy(literal.address, address, 16);
	egress_decide(rules, &literal, &v);
	return !v.allowed && own_address(family, address);
}

void resolve_judge(const struct egress_rules *rules, const struct target *t, uint8_t family, const uint8_t address[16],
		   struct egress_verdict *ret)
{
	egress_decide_address(rules, t->name, family, address, t->port, ret);
	if (ret->allowed && !egress_pin_find(rules, t->name) && is_unnamed_own(rules, t, family, address)) {
		ret->allowed = false;
		ret->reason = EGRESS_PRIVATE_ADDRESS;
	}
}

static void add(struct resolved *to, const struct egress_rules *rules, const struct target *t, int family,
		const void *address)
{
	struct egress_verdict v = { .allowed = true };
	uint8_t full[16] = { 0 };

	memcpy(full, address, family == AF_INET ? 4 : 16);
	if (rules)
		resolve_judge(rules, t, (uint8_t)family, full, &v);
	if (!v.allowed) {
		to->reason = v.reason;
		return;
	}
	if (to->n == LIMIT_PINNED_ADDRESSES)
		return;
	to->addresses[to->n].family = (uint8_t)family;
	memcpy(to->addresses[to->n].address, full, 16);
	to->n++;
}

/* Families take turns, beginning with the one that the system prefers, so that the second attempt differs. */
static void interleave(struct resolved *r)
{
	__typeof__(r->addresses[0]) moved;

	for (uint32_t i = 1; i < r->n; i++) {
		uint32_t j = i;

		while (j < r->n && r->addresses[j].family == r->addresses[i - 1].family)
			j++;
		if (j == r->n || j == i)
			continue;
		moved = r->addresses[j];
		memmove(&r->addresses[i + 1], &r->addresses[i], (j - i) * sizeof(moved));
		r->addresses[i] = moved;
	}
}

/* What the list means for one that waits: the same addresses may be judged differently for another port. */
static void answer(struct resolve *r, const struct addrinfo *list)
{
	struct resolved result = { .reason = EGRESS_UNRESOLVED };

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		if (a->ai_family == AF_INET)
			add(&result, r->rules, r->target, AF_INET,
			    &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr);
		else if (a->ai_family == AF_INET6)
			add(&result, r->rules, r->target, AF_INET6,
			    &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr);
	}
	interleave(&result);
	r->fn(r->data, &result);
	free(r);
}

static void unlist(struct lookup *l)
{
	if (l->listed)
		LIST_REMOVE(l, link);
	l->listed = false;
}

static void on_addresses(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct lookup *l = request->data;
	struct resolve *r;

	/* First, since an answer may lead to the next question. */
	unlist(l);
	while ((r = TAILQ_FIRST(&l->waiting))) {
		TAILQ_REMOVE(&l->waiting, r, link);
		answer(r, status == 0 ? list : NULL);
	}
	uv_freeaddrinfo(list);
	free(l);
}

/*
 * The name that was judged is the one asked, no search domain is tried: main() sets the search list to the root. A name
 * without a dot is asked with one at its end, as other resolvers behind NSS have search domains of their own for such
 * names; /etc/hosts does not know it in this form.
 */
static int start_query(struct resolver *all, struct lookup *l)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char name[HOSTNAME_MAX + 2];

	snprintf(name, sizeof(name), "%s%s", l->name, strchr(l->name, '.') ? "" : ".");
	l->request.data = l;
	return uv_getaddrinfo(all->loop, &l->request, on_addresses, name, NULL, &hints);
}

/* The one under way, or a new one. 0 or -errno. */
static int get_lookup(struct resolver *all, const char *name, struct lookup **ret)
{
	struct lookup *l;
	int r;

	LIST_FOREACH (l, &all->lookups, link)
		if (strcmp(l->name, name) == 0)
			break;
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		TAILQ_INIT(&l->waiting);
		snprintf(l->name, sizeof(l->name), "%s", name);
		r = start_query(all, l);
		if (r < 0) {
			free(l);
			return r;
		}
		LIST_INSERT_HEAD(&all->lookups, l, link);
		l->listed = true;
	}
	*ret = l;
	return 0;
}

static int wait_for_lookup(struct resolver *all, const struct target *target, resolve_fn fn, void *data,
			   struct resolve **ret)
{
	struct resolve *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return -ENOMEM;
	*r = (struct resolve){ .rules = all->rules, .target = target, .fn = fn, .data = data };
	err = get_lookup(all, target->name, &r->lookup);
	if (err < 0) {
		free(r);
		return err;
	}
	TAILQ_INSERT_TAIL(&r->lookup->waiting, r, link);
	*ret = r;
	return 0;
}

int resolve_start(struct resolver *all, const struct target *target, struct resolved *ret, resolve_fn fn, void *data,
		  struct resolve **ret_pending)
{
	const struct egress_pin *pin;

	*ret = (struct resolved){ .reason = EGRESS_UNRESOLVED };
	if (target->is_literal) {
		/* Judged as an address already. */
		ret->n = 1;
		ret->addresses[0].family = target->family;
		memcpy(ret->addresses[0].address, target->address, 16);
		return 1;
	}
	pin = all->rules ? egress_pin_find(all->rules, target->name) : NULL;
	if (pin) {
		for (uint32_t i = 0; i < pin->n_addresses; i++)
			add(ret, all->rules, target, pin->addresses[i].family, pin->addresses[i].address);
		return 1;
	}
	/* The host's own loopback is not a place of the session, whatever its resolver says. */
	if (all->rules && hostname_is_localhost(target->name)) {
		ret->reason = EGRESS_PRIVATE_ADDRESS;
		return 1;
	}
	return wait_for_lookup(all, target, fn, data, ret_pending);
}

void resolve_cancel(struct resolve *r)
{
	struct lookup *l = r->lookup;

	TAILQ_REMOVE(&l->waiting, r, link);
	free(r);
	/* One that a thread has begun goes on, and is there for the next who asks: else asking and giving up again and
	 * again would fill all threads. */
	if (TAILQ_EMPTY(&l->waiting) && l->listed && uv_cancel((uv_req_t *)&l->request) == 0)
		unlist(l);
}

void resolver_open(struct resolver *all, uv_loop_t *loop, const struct egress_rules *rules)
{
	all->loop = loop;
	all->rules = rules;
	LIST_INIT(&all->lookups);
}

void resolver_close(struct resolver *all)
{
	while (!LIST_EMPTY(&all->lookups))
		unlist(LIST_FIRST(&all->lookups));
}
