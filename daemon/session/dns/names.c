#include "daemon/session/dns/names.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/limits.h"
#include "daemon/wire/netns.h"

/* Offsets 0 (the network) and 1 (the resolver) of both ranges are taken: name i has offset i + 2. */
#define FIRST_OFFSET 2u
/* A power of two with room for every name at a load of a half. */
#define MAX_SLOTS (2u * LIMIT_DNS_NAMES)

static_assert((MAX_SLOTS & (MAX_SLOTS - 1)) == 0, "open addressing needs a power of two");
static_assert(LIMIT_DNS_NAMES + FIRST_OFFSET <= 1u << (32 - NETNS_INVENTED_V4_BITS), "one IPv4 address a name");

struct names {
	char **list; /* by index, which is the address */
	uint32_t count;
	uint32_t *slots; /* index + 1; 0 = free */
	uint32_t n_slots;
	uint64_t seed; /* the program inside picks the names: it must not be able to pick the collisions */
};

struct names *names_new(void)
{
	struct names *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	if (getrandom(&n->seed, sizeof(n->seed), GRND_NONBLOCK) != sizeof(n->seed))
		n->seed = (uintptr_t)n; /* address space randomisation is second best */
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
	free(n->slots);
	free(n);
}

static uint64_t name_hash(const struct names *n, const char *name)
{
	uint64_t h = n->seed ^ 0xcbf29ce484222325u;

	for (; *name; name++) {
		h = (h ^ (uint8_t)*name) * 0x100000001b3u;
		h ^= h >> 29;
	}
	return h;
}

/* The slot of the name, or the free one where it belongs. */
static uint32_t *find_slot(const struct names *n, const char *name)
{
	uint32_t mask = n->n_slots - 1, at = (uint32_t)name_hash(n, name) & mask;

	while (n->slots[at] != 0 && strcmp(n->list[n->slots[at] - 1], name) != 0)
		at = (at + 1) & mask;
	return &n->slots[at];
}

static int grow(struct names *n)
{
	uint32_t n_slots = n->n_slots ? n->n_slots * 2 : 64;
	uint32_t *slots = calloc(n_slots, sizeof(*slots)), *old = n->slots;
	char **list = realloc(n->list, n_slots / 2 * sizeof(*list));

	if (list)
		n->list = list;
	if (!slots || !list) {
		free(slots);
		return -ENOMEM;
	}
	n->slots = slots;
	n->n_slots = n_slots;
	for (uint32_t i = 0; i < n->count; i++)
		*find_slot(n, n->list[i]) = i + 1;
	free(old);
	return 0;
}

static int name_index(struct names *n, const char *name, uint32_t *ret)
{
	uint32_t *slot = n->n_slots ? find_slot(n, name) : NULL;
	char *copy;

	if (slot && *slot != 0) {
		*ret = *slot - 1;
		return 0;
	}
	if (n->count >= LIMIT_DNS_NAMES)
		return -ENOSPC;
	if (n->count >= n->n_slots / 2) {
		int r = grow(n);

		if (r < 0)
			return r;
		slot = find_slot(n, name);
	}
	if (!slot) /* never: at most half of the table is in use */
		return -ENOSPC;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	n->list[n->count] = copy;
	*slot = ++n->count;
	*ret = n->count - 1;
	return 0;
}

static void range_base(int family, uint8_t ret[16])
{
	memset(ret, 0, 16);
	inet_pton(family, family == AF_INET ? NETNS_INVENTED_V4 : NETNS_INVENTED_V6, ret);
}

int names_address(struct names *n, const char *name, int family, uint8_t ret[16])
{
	uint32_t index, low;
	uint8_t address[16], *at = address + (family == AF_INET ? 0 : 12);
	int r;

	if (family != AF_INET && family != AF_INET6)
		return -EAFNOSUPPORT;
	r = name_index(n, name, &index);
	if (r < 0)
		return r;
	range_base(family, address);
	memcpy(&low, at, sizeof(low));
	low = htonl(ntohl(low) + index + FIRST_OFFSET);
	memcpy(at, &low, sizeof(low));
	memcpy(ret, address, 16);
	return 0;
}

bool names_is_invented(int family, const uint8_t address[16])
{
	unsigned bits = family == AF_INET ? NETNS_INVENTED_V4_BITS : NETNS_INVENTED_V6_BITS;
	uint8_t base[16];

	if (family != AF_INET && family != AF_INET6)
		return false;
	range_base(family, base);
	if (memcmp(base, address, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || ((base[bits / 8] ^ address[bits / 8]) & (0xff << (8 - bits % 8)) & 0xff) == 0;
}

const char *names_lookup(const struct names *n, int family, const uint8_t address[16])
{
	uint8_t base[16];
	uint32_t low, start;

	if (!names_is_invented(family, address))
		return NULL;
	range_base(family, base);
	/* Between the prefix and the last four bytes an IPv6 address of ours is all zero. */
	if (family == AF_INET6 && memcmp(base, address, 12) != 0)
		return NULL;
	memcpy(&low, address + (family == AF_INET ? 0 : 12), sizeof(low));
	memcpy(&start, base + (family == AF_INET ? 0 : 12), sizeof(start));
	low = ntohl(low) - ntohl(start);
	if (low < FIRST_OFFSET || low - FIRST_OFFSET >= n->count)
		return NULL;
	return n->list[low - FIRST_OFFSET];
}
