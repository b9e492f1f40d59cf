#ifndef ISOD_SESSION_SSH_CLIENT_H
#define ISOD_SESSION_SSH_CLIENT_H
/* One connection of a program of the session to its ssh-agent. */
#include "daemon/session/agent/ssh_agent.h"
#include "sshagent/ssh_verdict.h"

/*
 *   NEW      who it is is asked of pid 1; nothing is read before
 *   READING  a request is on its way
 *   WAITING  for the user's agent
 *   WRITING  the answer
 */
enum ssh_client_state { SSH_CLIENT_NEW, SSH_CLIENT_READING, SSH_CLIENT_WAITING, SSH_CLIENT_WRITING };

struct ssh_client {
	TAILQ_ENTRY(ssh_client) link;    /* ssh_agent.clients */
	TAILQ_ENTRY(ssh_client) waiting; /* ssh_agent.waiting */
	struct ssh_agent *agent;
	uv_poll_t poll;
	int fd;
	enum ssh_client_state state;
	bool queued;
	uint32_t owner; /* the open question, 0 = none */
	struct ssh_bound bound;
	struct session_agent told; /* of the request under way */
	size_t at, len;            /* of .in: the request begins at .at */
	size_t frame;              /* its size */
	struct buffer out;
	size_t out_at;
	uint8_t in[LIMIT_SSH_REQUEST + SSH_FRAME_HEAD];
};

/* Takes fd over. 0 or -errno. */
int ssh_client_new(struct ssh_agent *a, int fd);
/* body: of the agent's answer; empty where there is none. */
void ssh_client_answered(struct ssh_client *c, struct ssh_span body);
/* Freed once its handle is closed. */
void ssh_client_close(struct ssh_client *c);

#endif
