#ifndef ISOD_SESSION_SSH_AGENT_H
#define ISOD_SESSION_SSH_AGENT_H
/* The listener, the one connection to the user's agent, and whose turn it is there. */
#include <sys/queue.h>

#include "base/limits.h"
#include "daemon/session/agent/ssh.h"
#include "daemon/session/agent/agent_told.h"

struct ssh_client;
TAILQ_HEAD(ssh_clients, ssh_client);

struct ssh_agent {
	uv_loop_t *loop;
	const struct ssh_rules *rules;
	struct link *link;
	struct agent_told *told;
	uv_poll_t listener;
	uv_poll_t upstream;
	unsigned handles; /* of the two, open: freed with the last one and the last client */
	int listener_fd;
	int agent_fd; /* -1: the user's agent is gone */
	bool closing;
	struct ssh_clients clients;
	unsigned n_clients;
	struct ssh_clients waiting; /* for their turn */
	struct ssh_client *asking;  /* whose request the agent has; NULL also where it has gone since */
	bool busy;
	struct buffer out; /* the request, .out_at bytes of which are sent */
	size_t out_at;
	struct buffer in;
	char learnt[LIMIT_SSH_KEYS][SSH_FINGERPRINT_SIZE]; /* of keys that a comment names, when last listed */
	uint32_t n_learnt;
};

/* The client's frame is sent when its turn comes; ssh_client_answered() is called then. False: the agent is gone. */
bool ssh_agent_ask(struct ssh_agent *a, struct ssh_client *c);
/* It leaves, whatever it waits for. */
void ssh_agent_forget(struct ssh_agent *a, struct ssh_client *c);

/* A client was freed. */
void ssh_agent_client_gone(struct ssh_agent *a);
/* Frees the agent where it was closed and its last handle is. */
void ssh_agent_settle(struct ssh_agent *a);

bool ssh_agent_names(const struct ssh_agent *a, const char *fingerprint);
/* Keeps of an answer to a list what the rules name. The number of keys, or -errno. */
int ssh_agent_filter(struct ssh_agent *a, struct ssh_span body, struct buffer *ret);

#endif
