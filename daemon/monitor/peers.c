#include "daemon/monitor/peers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/limits.h"

static unsigned count_of(const struct peers *peers, uid_t uid)
{
	const struct peer *p;
	unsigned n = 0;

	LIST_FOREACH (p, &peers->list, link)
		n += p->uid == uid;
	return n;
}

/* The kernel tells how much room it needs (-ERANGE); the set is fixed from connect(2) on, so once is enough. */
static int read_groups(int sock, struct peer **peer)
{
	socklen_t len = 0;
	struct peer *grown;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) == 0 || (errno == ERANGE && len == 0))
		return 0;
	if (errno != ERANGE)
		return -errno;
	if (len > LIMIT_GROUPS * sizeof(gid_t))
		return -E2BIG;
	grown = realloc(*peer, sizeof(**peer) + len);
	if (!grown)
		return -ENOMEM;
	*peer = grown;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERGROUPS, grown->groups, &len) < 0)
		return -errno;
	grown->n_groups = len / sizeof(gid_t);
	return 0;
}

int peers_add(struct peers *peers, int sock, const struct peer **ret)
{
	_cleanup_free_ struct peer *peer = calloc(1, sizeof(*peer));
	struct ucred credentials;
	socklen_t len = sizeof(credentials);
	int r;

	if (!peer)
		return -ENOMEM;
	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &credentials, &len) < 0)
		return -errno;
	if (credentials.uid == (uid_t)-1 || credentials.gid == (gid_t)-1)
		return -ENOTCONN;
	if (peers->count >= LIMIT_CONNECTIONS || count_of(peers, credentials.uid) >= LIMIT_CONNECTIONS_PER_UID)
		return -EDQUOT;
	r = read_groups(sock, &peer);
	if (r < 0)
		return r;
	peer->number = ++peers->last_number;
	peer->uid = credentials.uid;
	peer->gid = credentials.gid;
	peer->pid = credentials.pid;
	LIST_INSERT_HEAD(&peers->list, peer, link);
	peers->count++;
	*ret = take_ptr(peer);
	return 0;
}

static struct peer *find(const struct peers *peers, uint64_t number)
{
	struct peer *p;

	LIST_FOREACH (p, &peers->list, link)
		if (p->number == number)
			return p;
	return NULL;
}

const struct peer *peers_find(const struct peers *peers, uint64_t number)
{
	return find(peers, number);
}

static void drop(struct peers *peers, struct peer *peer)
{
	LIST_REMOVE(peer, link);
	peers->count--;
	free(peer);
}

int peers_remove(struct peers *peers, uint64_t number)
{
	struct peer *p = find(peers, number);

	if (!p)
		return -ENOENT;
	drop(peers, p);
	return 0;
}

void peers_clear(struct peers *peers)
{
	while (!LIST_EMPTY(&peers->list))
		drop(peers, LIST_FIRST(&peers->list));
}
