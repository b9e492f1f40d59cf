#include "client/policy/proposal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void host_done(struct proposal_host *h)
{
	for (size_t i = 0; i < h->n_programs; i++)
		free(h->programs[i]);
	free(h->name);
}

void proposal_done(struct proposal *p)
{
	for (size_t i = 0; i < p->n_hosts; i++)
		host_done(&p->hosts[i]);
	free(p->hosts);
	free(p->wildcards);
	*p = (struct proposal){ .hosts = NULL };
}

static int compare(const struct proposal_host *h, const char *name, uint16_t port)
{
	int r = strcmp(h->name, name);

	return r != 0 ? r : h->port - port;
}

/* The first place whose host does not come before. */
static size_t place_of(const struct proposal *p, const char *name, uint16_t port)
{
	size_t first = 0, end = p->n_hosts;

	while (first < end) {
		size_t middle = first + (end - first) / 2;

		if (compare(&p->hosts[middle], name, port) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

static int add_program(struct proposal_host *h, const char *program)
{
	for (size_t i = 0; i < h->n_programs; i++)
		if (strcmp(h->programs[i], program) == 0)
			return 0;
	if (h->n_programs == PROPOSAL_PROGRAMS_MAX) {
		h->n_more++;
		return 0;
	}
	h->programs[h->n_programs] = strdup(program);
	return h->programs[h->n_programs] ? (h->n_programs++, 0) : -ENOMEM;
}

/* *ret: NULL where there are too many already. */
static int get_host(struct proposal *p, const char *name, uint16_t port, struct proposal_host **ret)
{
	size_t at = place_of(p, name, port);
	char *copy;

	*ret = NULL;
	if (at < p->n_hosts && compare(&p->hosts[at], name, port) == 0) {
		*ret = &p->hosts[at];
		return 0;
	}
	if (p->n_hosts == PROPOSAL_HOSTS_MAX)
		return 0;
	if (!p->hosts)
		p->hosts = calloc(PROPOSAL_HOSTS_MAX, sizeof(*p->hosts));
	copy = p->hosts ? strdup(name) : NULL;
	if (!copy)
		return -ENOMEM;
	memmove(&p->hosts[at + 1], &p->hosts[at], (p->n_hosts - at) * sizeof(*p->hosts));
	p->hosts[at] = (struct proposal_host){ .name = copy, .port = port };
	p->n_hosts++;
	*ret = &p->hosts[at];
	return 0;
}

int proposal_add(struct proposal *p, const char *name, uint16_t port, uint64_t count, const char *program)
{
	char canonical[HOSTNAME_MAX + 1];
	struct proposal_host *h;
	int r;

	if (port == 0 || hostname_canonical(name, strlen(name), canonical) < 0 || strcmp(name, canonical) != 0 ||
	    !hostname_is_public(name))
		return -EINVAL;
	r = get_host(p, name, port, &h);
	if (r < 0)
		return r;
	if (!h) {
		p->more += count;
		return 0;
	}
	h->count += count;
	return program ? add_program(h, program) : 0;
}

void proposal_filter(struct proposal *p, bool (*keep)(const struct proposal_host *host, void *data), void *data)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_hosts; i++) {
		if (keep(&p->hosts[i], data))
			p->hosts[n++] = p->hosts[i];
		else
			host_done(&p->hosts[i]);
	}
	p->n_hosts = n;
}

static const char *parent_of(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot ? dot + 1 : "";
}

static size_t count_siblings(const struct proposal *p, const char *parent, uint16_t port)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_hosts; i++)
		n += p->hosts[i].port == port && strcmp(parent_of(p->hosts[i].name), parent) == 0;
	return n;
}

static const struct proposal_wildcard *find_wildcard(const struct proposal *p, const char *parent, uint16_t port)
{
	for (size_t i = 0; i < p->n_wildcards; i++)
		if (p->wildcards[i].port == port && strcmp(p->wildcards[i].name, parent) == 0)
			return &p->wildcards[i];
	return NULL;
}

int proposal_find_wildcards(struct proposal *p, const char *(*owner)(const char *name))
{
	free(p->wildcards);
	p->n_wildcards = 0;
	p->wildcards = calloc(p->n_hosts + 1, sizeof(*p->wildcards));
	if (!p->wildcards)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_hosts; i++) {
		const char *parent = parent_of(p->hosts[i].name);
		uint16_t port = p->hosts[i].port;
		size_t n;

		/* Below a public suffix everybody may have a name, strangers too. */
		if (!strchr(parent, '.') || !owner(parent) || find_wildcard(p, parent, port))
			continue;
		n = count_siblings(p, parent, port);
		if (n >= PROPOSAL_SIBLINGS)
			p->wildcards[p->n_wildcards++] = (struct proposal_wildcard){ parent, port, n };
	}
	return 0;
}

const struct proposal_wildcard *proposal_wildcard_of(const struct proposal *p, const struct proposal_host *host)
{
	return find_wildcard(p, parent_of(host->name), host->port);
}

void proposal_format_host(const struct proposal_host *host, char ret[EGRESS_RULE_TEXT_MAX])
{
	snprintf(ret, EGRESS_RULE_TEXT_MAX, "%s:%u", host->name, host->port);
}

void proposal_format_wildcard(const struct proposal_wildcard *wildcard, char ret[EGRESS_RULE_TEXT_MAX])
{
	snprintf(ret, EGRESS_RULE_TEXT_MAX, "*.%s:%u", wildcard->name, wildcard->port);
}
