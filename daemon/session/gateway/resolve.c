#include "daemon/session/gateway/resolve.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

struct resolve {
	uv_getaddrinfo_t request;
	const struct egress_rules *rules;
	const struct target *target;
	resolve_fn fn; /* NULL: nobody waits any more */
	void *data;
};

static void add(struct resolved *to, const struct egress_rules *rules, const struct target *t, int family,
		const void *address)
{
	struct egress_verdict v;
	uint8_t full[16] = { 0 };

	memcpy(full, address, family == AF_INET ? 4 : 16);
	egress_decide_address(rules, t->name, (uint8_t)family, full, t->port, &v);
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

static void on_addresses(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct resolve *r = request->data;
	struct resolved result = { .reason = EGRESS_UNRESOLVED };

	if (r->fn) {
		for (const struct addrinfo *a = status == 0 ? list : NULL; a; a = a->ai_next) {
			if (a->ai_family == AF_INET)
				add(&result, r->rules, r->target, AF_INET,
				    &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr);
			else if (a->ai_family == AF_INET6)
				add(&result, r->rules, r->target, AF_INET6,
				    &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr);
		}
		interleave(&result);
		r->fn(r->data, &result);
	}
	uv_freeaddrinfo(list);
	free(r);
}

static int start_query(uv_loop_t *loop, struct resolve *r)
{
	static const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char name[HOSTNAME_MAX + 2];
	size_t len = strlen(r->target->name);
	int err;

	/* The dot at the end keeps the host's search domains out of it: the name that was judged is the one asked. */
	memcpy(name, r->target->name, len);
	memcpy(name + len, ".", 2);
	r->request.data = r;
	err = uv_getaddrinfo(loop, &r->request, on_addresses, name, NULL, &hints);
	return err < 0 ? err : 0;
}

int resolve_start(uv_loop_t *loop, const struct egress_rules *rules, const struct target *target, struct resolved *ret,
		  resolve_fn fn, void *data, struct resolve **ret_pending)
{
	const struct egress_pin *pin;
	struct resolve *r;
	int err;

	*ret = (struct resolved){ .reason = EGRESS_UNRESOLVED };
	if (target->is_literal) {
		/* Judged as an address already. */
		ret->n = 1;
		ret->addresses[0].family = target->family;
		memcpy(ret->addresses[0].address, target->address, 16);
		return 1;
	}
	pin = egress_pin_find(rules, target->name);
	if (pin) {
		for (uint32_t i = 0; i < pin->n_addresses; i++)
			add(ret, rules, target, pin->addresses[i].family, pin->addresses[i].address);
		return 1;
	}
	/* The host's own loopback is not a place of the session, whatever its resolver says. */
	if (hostname_is_localhost(target->name)) {
		ret->reason = EGRESS_PRIVATE_ADDRESS;
		return 1;
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	*r = (struct resolve){ .rules = rules, .target = target, .fn = fn, .data = data };
	err = start_query(loop, r);
	if (err < 0) {
		free(r);
		return err;
	}
	*ret_pending = r;
	return 0;
}

void resolve_cancel(struct resolve *r)
{
	r->fn = NULL;
	uv_cancel((uv_req_t *)&r->request);
}
