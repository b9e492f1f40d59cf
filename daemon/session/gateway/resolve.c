#include "daemon/session/gateway/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/session/gateway/own_address.h"

/* Seconds until prefixes are asked for again where the answer does not say; the largest file of the resolver that is
 * read. */
enum { NAT64_AGAIN = 60, CONF_MAX = 16384 };

/* One that waits for a look-up. */
struct resolve {
	TAILQ_ENTRY(resolve) link;
	struct lookup *lookup;
	const struct target *target;
	resolve_fn fn;
	void *data;
};

struct lookup {
	struct resolver *all;     /* NULL: closed, nobody waits any more */
	uv_getaddrinfo_t request; /* .by_system: under way in a thread */
	LIST_ENTRY(lookup) link;
	LIST_ENTRY(lookup) held; /* in the resolver's .nat64.held */
	TAILQ_HEAD(resolve_list, resolve) waiting;
	bool listed; /* more may wait for it */
	bool by_system;
	bool is_held;
	struct stub_answer answer;
	char name[HOSTNAME_MAX + 1];
};

static const char nat64_name[] = "ipv4only.arpa";

/* An ordinary address that is the machine's own is judged like a private one. */
static bool is_unnamed_own(const struct egress_rules *rules, const struct target *t, int family, const uint8_t *address)
{
	struct egress_target literal = { .family = (uint8_t)family, .port = t->port };
	struct egress_verdict v;

	memcpy(literal.address, address, 16);
	egress_decide(rules, &literal, &v);
	return !v.allowed && own_address(family, address);
}

static void judge_one(const struct egress_rules *rules, const struct target *t, uint8_t family,
		      const uint8_t address[16], struct egress_verdict *ret)
{
	egress_decide_address(rules, t->name, family, address, t->port, ret);
	if (ret->allowed && !egress_pin_find(rules, t->name) && is_unnamed_own(rules, t, family, address)) {
		ret->allowed = false;
		ret->reason = EGRESS_PRIVATE_ADDRESS;
	}
}

void resolve_judge(const struct resolver *all, const struct target *t, uint8_t family, const uint8_t address[16],
		   struct egress_verdict *ret)
{
	uint8_t behind[16];

	judge_one(all->rules, t, family, address, ret);
	/* What the network would make of it must be allowed as well. */
	for (uint32_t i = 0; ret->allowed && family == AF_INET6 && i < all->nat64.n; i++)
		if (address_nat64_unwrap(&all->nat64.prefixes[i], address, behind))
			judge_one(all->rules, t, AF_INET, behind, ret);
}

static void add(struct resolved *to, const struct resolver *all, const struct target *t, int family,
		const void *address)
{
	struct egress_verdict v = { .allowed = true };
	uint8_t full[16] = { 0 };

	memcpy(full, address, family == AF_INET ? 4 : 16);
	if (all->rules)
		resolve_judge(all, t, (uint8_t)family, full, &v);
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

/* What the answer means for one that asks: the same addresses may be judged differently for another port. */
static void judge_all(const struct resolver *all, const struct target *t, const struct stub_answer *found,
		      struct resolved *ret)
{
	*ret = (struct resolved){ .reason = EGRESS_UNRESOLVED };
	for (uint32_t i = 0; i < found->n; i++)
		add(ret, all, t, found->addresses[i].family, found->addresses[i].address);
	interleave(ret);
}

static void unlist(struct lookup *l)
{
	if (l->listed)
		LIST_REMOVE(l, link);
	l->listed = false;
}

static void deliver(struct lookup *l)
{
	struct resolver *all = l->all;
	struct resolved result;
	struct resolve *r;

	/* First, since an answer may lead to the next question. */
	unlist(l);
	while ((r = TAILQ_FIRST(&l->waiting))) {
		TAILQ_REMOVE(&l->waiting, r, link);
		judge_all(all, r->target, &l->answer, &result);
		r->fn(r->data, &result);
		free(r);
	}
	free(l);
}

static void learn_nat64(struct resolver *all, const struct stub_answer *found)
{
	uint32_t seconds = found->seconds ? found->seconds : NAT64_AGAIN;

	all->nat64.lookup = NULL;
	all->nat64.until = uv_now(all->loop) + (uint64_t)(seconds > NAT64_AGAIN ? seconds : NAT64_AGAIN) * 1000;
	/* A question that failed says nothing: what was known stays. */
	if (found->n > 0 || found->seconds > 0)
		all->nat64.n = 0;
	for (uint32_t i = 0; i < found->n && all->nat64.n < NAT64_MAX; i++)
		if (found->addresses[i].family == AF_INET6 &&
		    address_nat64_learn(found->addresses[i].address, &all->nat64.prefixes[all->nat64.n]))
			all->nat64.n++;
	while (!LIST_EMPTY(&all->nat64.held)) {
		struct lookup *l = LIST_FIRST(&all->nat64.held);

		LIST_REMOVE(l, held);
		l->is_held = false;
		deliver(l);
	}
}

static int start_query(struct lookup *l, int family);

/* Are the prefixes known that an answer is to be judged by? */
static bool knows_nat64(const struct resolver *all, const struct stub_answer *found)
{
	if (!all->rules || all->nat64.until > uv_now(all->loop))
		return true;
	for (uint32_t i = 0; i < found->n; i++)
		if (found->addresses[i].family == AF_INET6)
			return false;
	return true;
}

/* Until the prefixes are known. False: they cannot be asked for. */
static bool hold(struct lookup *l)
{
	struct resolver *all = l->all;
	struct lookup *question = all->nat64.lookup;

	if (!question) {
		question = calloc(1, sizeof(*question));
		if (!question)
			return false;
		question->all = all;
		TAILQ_INIT(&question->waiting);
		snprintf(question->name, sizeof(question->name), "%s", nat64_name);
		if (start_query(question, AF_INET6) < 0) {
			free(question);
			return false;
		}
		all->nat64.lookup = question;
	}
	LIST_INSERT_HEAD(&all->nat64.held, l, held);
	l->is_held = true;
	return true;
}

/* .answer has come. */
static void finish(struct lookup *l)
{
	struct resolver *all = l->all;

	l->by_system = false;
	if (!all) {
		free(l);
		return;
	}
	if (l == all->nat64.lookup) {
		struct stub_answer found = l->answer;

		free(l);
		learn_nat64(all, &found);
		return;
	}
	answers_keep(&all->answers, l->name, &l->answer, uv_now(all->loop));
	/* Nobody else may wait for it now: what is kept answers them. */
	if (!knows_nat64(all, &l->answer)) {
		if (hold(l))
			return;
		l->answer.n = 0; /* it is not judged without knowing */
	}
	deliver(l);
}

static void on_stub(void *data, const struct stub_answer *found)
{
	struct lookup *l = data;

	l->answer = *found;
	finish(l);
}

static void on_addresses(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct lookup *l = request->data;
	struct stub_answer *to = &l->answer;

	for (const struct addrinfo *a = status == 0 ? list : NULL; a && to->n < LIMIT_ANSWER_ADDRESSES;
	     a = a->ai_next) {
		uint8_t *address = to->addresses[to->n].address;

		if (a->ai_family == AF_INET)
			memcpy(address, &((const struct sockaddr_in *)(const void *)a->ai_addr)->sin_addr, 4);
		else if (a->ai_family == AF_INET6)
			memcpy(address, &((const struct sockaddr_in6 *)(const void *)a->ai_addr)->sin6_addr, 16);
		else
			continue;
		to->addresses[to->n++].family = (uint8_t)a->ai_family;
	}
	uv_freeaddrinfo(list);
	finish(l);
}

/* Bytes read; one that is not there is empty; -EFBIG. */
static ssize_t read_conf(const char *path, char text[CONF_MAX])
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : fd_read_full(fd, text, CONF_MAX);

	return n == CONF_MAX ? -EFBIG : n;
}

static bool is_for_stub(const char *name)
{
	char text[CONF_MAX];
	ssize_t n = read_conf("/etc/nsswitch.conf", text);

	if (n < 0 || !stub_serves(text, (size_t)n, name))
		return false;
	n = read_conf("/etc/resolv.conf", text);
	return n >= 0 && stub_reads(text, (size_t)n);
}

/*
 * The name that was judged is the one asked, no search domain is tried: main() sets the search list to the root. A name
 * without a dot is asked with one at its end, as other resolvers behind NSS have search domains of their own for such
 * names; /etc/hosts does not know it in this form.
 */
static int start_query(struct lookup *l, int family)
{
	const struct addrinfo hints = { .ai_family = family, .ai_socktype = SOCK_STREAM };
	struct resolver *all = l->all;
	char name[HOSTNAME_MAX + 2];
	int r;

	snprintf(name, sizeof(name), "%s%s", l->name, strchr(l->name, '.') ? "" : ".");
	if (is_for_stub(l->name)) {
		if (!all->stub)
			all->stub = stub_new(all->loop);
		return all->stub ? stub_ask(all->stub, name, family, on_stub, l) : -ENOMEM;
	}
	l->request.data = l;
	r = uv_getaddrinfo(all->loop, &l->request, on_addresses, name, NULL, &hints);
	l->by_system = r == 0;
	return r;
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
		l->all = all;
		r = start_query(l, AF_UNSPEC);
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
	*r = (struct resolve){ .target = target, .fn = fn, .data = data };
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
	const struct stub_answer *kept;
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
			add(ret, all, target, pin->addresses[i].family, pin->addresses[i].address);
		return 1;
	}
	/* The host's own loopback is not a place of the session, whatever its resolver says. */
	if (all->rules && hostname_is_localhost(target->name)) {
		ret->reason = EGRESS_PRIVATE_ADDRESS;
		return 1;
	}
	kept = answers_find(&all->answers, target->name, uv_now(all->loop));
	if (kept && knows_nat64(all, kept)) {
		judge_all(all, target, kept, ret);
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
	if (TAILQ_EMPTY(&l->waiting) && l->listed && l->by_system && uv_cancel((uv_req_t *)&l->request) == 0) {
		unlist(l);
		l->all = NULL;
	}
}

void resolver_open(struct resolver *all, uv_loop_t *loop, const struct egress_rules *rules)
{
	all->loop = loop;
	all->rules = rules;
	LIST_INIT(&all->lookups);
	LIST_INIT(&all->nat64.held);
	answers_open(&all->answers);
}

void resolver_close(struct resolver *all)
{
	struct lookup *l, *held;

	LIST_FOREACH (l, &all->lookups, link)
		l->all = NULL;
	while (!LIST_EMPTY(&all->lookups))
		unlist(LIST_FIRST(&all->lookups));
	while ((held = LIST_FIRST(&all->nat64.held))) {
		LIST_REMOVE(held, held);
		free(held);
	}
	if (all->nat64.lookup)
		all->nat64.lookup->all = NULL;
	all->nat64.lookup = NULL;
	stub_close(all->stub);
	all->stub = NULL;
	answers_done(&all->answers);
}
