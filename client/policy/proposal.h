#ifndef ISOD_CLIENT_PROPOSAL_H
#define ISOD_CLIENT_PROPOSAL_H
/*
 * Rules for what a session has reached: the narrowest ones, one host and one port each, and wildcards that could stand
 * for several of them. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/egress.h"
#include "policy/hostname.h"

/* Hosts that are kept: a policy of more would be read by nobody. Programs that are named of each. */
#define PROPOSAL_HOSTS_MAX 4096
#define PROPOSAL_PROGRAMS_MAX 4
/* Hosts beside each other for which a wildcard is offered. */
#define PROPOSAL_SIBLINGS 3

struct proposal_host {
	char *name; /* canonical */
	uint16_t port;
	uint64_t count; /* connections */
	char *programs[PROPOSAL_PROGRAMS_MAX];
	size_t n_programs;
	size_t n_more; /* times that a further program was seen */
};

/* "*.name": offered where the name belongs to one owner. */
struct proposal_wildcard {
	const char *name; /* a part of a host's */
	uint16_t port;
	size_t n_hosts;
};

struct proposal {
	struct proposal_host *hosts; /* by name and port */
	size_t n_hosts;
	struct proposal_wildcard *wildcards;
	size_t n_wildcards;
	uint64_t more; /* connections to hosts that are not kept */
};

void proposal_done(struct proposal *p);
#define _cleanup_proposal_ __attribute__((cleanup(proposal_done)))

/* program: NULL where it is not known. 0; -EINVAL: no canonical public name or port; -ENOMEM. */
int proposal_add(struct proposal *p, const char *name, uint16_t port, uint64_t count, const char *program);
/* Leaves only those that keep wants. */
void proposal_filter(struct proposal *p, bool (*keep)(const struct proposal_host *host, void *data), void *data);
/* Finds the wildcards, once all hosts are there. owner: as registrable_part(). 0 or -ENOMEM. */
int proposal_find_wildcards(struct proposal *p, const char *(*owner)(const char *name));

/* The wildcard that would stand for the host, or NULL. */
const struct proposal_wildcard *proposal_wildcard_of(const struct proposal *p, const struct proposal_host *host);
void proposal_format_host(const struct proposal_host *host, char ret[EGRESS_RULE_TEXT_MAX]);
void proposal_format_wildcard(const struct proposal_wildcard *wildcard, char ret[EGRESS_RULE_TEXT_MAX]);

#endif
