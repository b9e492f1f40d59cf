#ifndef ISOD_SESSION_SSH_H
#define ISOD_SESSION_SSH_H
/*
 * The session's ssh-agent: answers its programs by asking the user's agent what the rules allow (sshagent/). Not in
 * every program that serves sessions: isod-session-ssh has it, isod-session does without libcrypto.
 */
#include <uv.h>

#include "sshagent/ssh_rules.h"

struct events;
struct link;
struct ssh_agent;

struct ssh_lent {
	struct ssh_rules rules;
	int agent_fd; /* stream socket to the user's agent */
};

struct ssh_service {
	/* Before rights are given up. data: the wire form of the rules, which lies there until the end. */
	int (*prepare)(const void *data, size_t len, struct ssh_lent *ret);
	/* Takes the listener over, unless it fails. lent must outlive the agent. */
	int (*open)(uv_loop_t *loop, const struct ssh_lent *lent, struct events *events, struct link *link,
		    int listener, struct ssh_agent **ret);
	/* Tells what was not told yet. Freed once its handles are closed: run the loop after. */
	void (*close)(struct ssh_agent *a);
};

/* NULL in isod-session. */
extern const struct ssh_service *const ssh_service;

#endif
