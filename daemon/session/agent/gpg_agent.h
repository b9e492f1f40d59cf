#ifndef ISOD_SESSION_GPG_AGENT_H
#define ISOD_SESSION_GPG_AGENT_H
/*
 * The session's gpg-agent: the listener, the one connection to the restricted socket of the user's, and whose turn it
 * is there. What programs write is parsed (gpgagent/), and what the user's agent is asked is written anew.
 */
#include <sys/queue.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/limits.h"
#include "daemon/session/agent/agent_told.h"
#include "gpgagent/gpg_verdict.h"

struct gpg_client;
struct link;
TAILQ_HEAD(gpg_clients, gpg_client);

struct gpg_lent {
	struct gpg_rules rules;
	int agent_fd; /* stream socket to the user's agent */
};

/*
 *   GREETING    its first line is awaited
 *   RESTRICTED  it is asked whether this is its restricted socket; nothing is served before
 *   VERSION     and which version it has
 *   READY
 */
enum gpg_agent_state { GPG_AGENT_GREETING, GPG_AGENT_RESTRICTED, GPG_AGENT_VERSION, GPG_AGENT_READY };

struct gpg_agent {
	uv_loop_t *loop;
	const struct gpg_rules *rules;
	struct link *link;
	struct agent_told *told;
	uv_poll_t listener;
	uv_poll_t upstream;
	unsigned handles; /* of the two, open: freed with the last one and the last client */
	int listener_fd;
	int agent_fd; /* -1: the user's agent is gone, or it is not what may be lent */
	bool closing;
	enum gpg_agent_state state;
	enum gpg_reason lost; /* why .agent_fd is -1 */
	char version[32];     /* printable, without '%' */
	struct gpg_clients clients;
	unsigned n_clients;
	struct gpg_clients waiting; /* for their turn */
	struct gpg_client *asking;  /* whose commands the agent has; NULL also where it has gone since */
	bool busy;                  /* an answer is awaited */
	struct buffer commands;     /* of the request under way, .commands_at bytes of which were sent */
	size_t commands_at;
	struct buffer out; /* one command, .out_at bytes of which are sent */
	size_t out_at;
	struct buffer in;
	struct buffer data; /* lines "D ..." of the answer, as they came */
};

/* Takes the listener over, unless it fails. lent must outlive the agent. 0 or -errno. */
int gpg_agent_open(uv_loop_t *loop, const struct gpg_lent *lent, struct events *events, struct link *link, int listener,
		   struct gpg_agent **ret);
/* Tells what was not told yet. Freed once its handles are closed: run the loop after. */
void gpg_agent_close(struct gpg_agent *a);

/* The client's .commands are sent when its turn comes; gpg_client_answered() is called then. False: the agent is gone.
 */
bool gpg_agent_ask(struct gpg_agent *a, struct gpg_client *c);
/* It leaves, whatever it waits for. */
void gpg_agent_forget(struct gpg_agent *a, struct gpg_client *c);
/* A client was freed. */
void gpg_agent_client_gone(struct gpg_agent *a);

#endif
