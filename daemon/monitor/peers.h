#ifndef ISOD_MONITOR_PEERS_H
#define ISOD_MONITOR_PEERS_H
/* Who is connected. Every value was read from the kernel at accept; what a client says about itself counts nowhere. */
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

struct peer {
	LIST_ENTRY(peer) link;
	uint64_t number; /* never used again */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	uint32_t n_groups;
	gid_t groups[]; /* supplementary */
};

struct peers {
	LIST_HEAD(, peer) list;
	uint64_t last_number;
	unsigned count;
};

#define PEERS_INIT                                                                                                     \
	{                                                                                                              \
		.count = 0                                                                                             \
	}

/*
 * Reads uid, gid, pid and groups of the other end and adds a record. 0; -EDQUOT where this uid or all together hold as
 * many as they may; -E2BIG beyond LIMIT_GROUPS; -errno. The record is the list's.
 */
int peers_add(struct peers *peers, int sock, const struct peer **ret);
/* NULL where there is none. */
const struct peer *peers_find(const struct peers *peers, uint64_t number);
/* -ENOENT */
int peers_remove(struct peers *peers, uint64_t number);
void peers_clear(struct peers *peers);

#endif
