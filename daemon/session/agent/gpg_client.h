#ifndef ISOD_SESSION_GPG_CLIENT_H
#define ISOD_SESSION_GPG_CLIENT_H
/* One connection of a program of the session to its gpg-agent. */
#include "daemon/session/agent/gpg_agent.h"

/*
 *   NEW      who it is is asked of pid 1; nothing is read before
 *   READING  a line is on its way
 *   WAITING  for the user's agent
 *   WRITING  the answer
 */
enum gpg_client_state { GPG_CLIENT_NEW, GPG_CLIENT_READING, GPG_CLIENT_WAITING, GPG_CLIENT_WRITING };

struct gpg_client {
	TAILQ_ENTRY(gpg_client) link;    /* gpg_agent.clients */
	TAILQ_ENTRY(gpg_client) waiting; /* gpg_agent.waiting */
	struct gpg_agent *agent;
	uv_poll_t poll;
	int fd;
	enum gpg_client_state state;
	bool queued;
	bool leaves;    /* it has said BYE */
	uint32_t owner; /* the open question, 0 = none */
	struct gpg_chosen chosen;
	struct session_agent told; /* of the request under way */
	struct buffer commands;    /* what is asked of the user's agent for it */
	struct buffer out;
	size_t out_at;
	size_t at, len; /* of .in: the line begins at .at */
	char in[LIMIT_ASSUAN_LINE];
};

/* Takes fd over. 0 or -errno. */
int gpg_client_new(struct gpg_agent *a, int fd);
/* error: what the agent said, or 0; data: lines that come before its OK. */
void gpg_client_answered(struct gpg_client *c, enum gpg_reason reason, unsigned error, const struct buffer *data);
/* Freed once its handle is closed. */
void gpg_client_close(struct gpg_client *c);

#endif
