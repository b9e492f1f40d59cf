#ifndef ISOD_PROXY_OWNER_H
#define ISOD_PROXY_OWNER_H
/* Which program a connection to the proxy belongs to (owner.h), outside a session: the kernel is asked for the socket's
 * inode, a thread looks for it below /proc. Processes of other users are not seen, unless we are root. */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/session/owner.h"

struct proxy_question {
	uint32_t handle; /* 0: free */
	bool under_way;  /* with the thread */
	uint64_t inode;
	owner_fn fn; /* NULL: forgotten */
	void *data;
};

/* The thread's own copy of one. */
struct proxy_search {
	uint64_t inode;
	uint32_t slot;
	uint32_t pid; /* the answer, 0: not found */
	char program[SESSION_PROGRAM_MAX];
};

/* What the gateway takes for its link: opaque to it. */
struct link {
	uv_loop_t *loop;
	int diag; /* sock_diag, negative: there is none, nobody is named */
	uv_work_t work;
	bool working; /* .searches belong to the thread */
	uint32_t last;
	uint32_t n_searches;
	struct proxy_search searches[OWNER_MAX];
	struct proxy_question questions[OWNER_MAX];
};

void proxy_owner_open(struct link *l, uv_loop_t *loop);

#endif
