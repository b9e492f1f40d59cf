#ifndef ISOD_SSHAGENT_SSH_REQUEST_H
#define ISOD_SSHAGENT_SSH_REQUEST_H
/* The ssh-agent protocol (draft-ietf-sshm-ssh-agent, OpenSSH's PROTOCOL.agent): frames and requests. */
#include <sys/types.h>

#include "sshagent/ssh_wire.h"

enum ssh_message {
	SSH_AGENT_FAILURE = 5,
	SSH_AGENT_SUCCESS = 6,
	SSH_AGENT_LIST = 11,
	SSH_AGENT_IDENTITIES = 12,
	SSH_AGENT_SIGN = 13,
	SSH_AGENT_SIGNATURE = 14,
	SSH_AGENT_EXTENSION = 27,
};

enum ssh_request_kind {
	SSH_REQUEST_OTHER, /* one that is never served */
	SSH_REQUEST_LIST,
	SSH_REQUEST_SIGN, /* key, data, flags */
	SSH_REQUEST_BIND, /* session-bind@openssh.com: key (of the host), session_id, signature, forwarding */
};

struct ssh_request {
	enum ssh_request_kind kind;
	uint8_t type;
	struct ssh_span key;
	struct ssh_span data;
	uint32_t flags;
	struct ssh_span session_id;
	struct ssh_span signature;
	bool forwarding;
};

#define SSH_FRAME_HEAD 4

/* The size of the frame that begins at data, its head included; 0: it is not all there yet; -EMSGSIZE: its body is
 * longer than max or empty. */
ssize_t ssh_frame_size(const uint8_t *data, size_t len, size_t max);

/* body: of one frame. The spans lie in it. 0, or -EBADMSG where one that is served is not well-formed to its last byte.
 */
int ssh_request_parse(struct ssh_span body, struct ssh_request *ret);

/* A list of keys as an agent answers it. */
struct ssh_identities {
	struct ssh_reader rest;
	uint32_t left;
};

/* More than any agent holds. */
#define SSH_IDENTITIES_MAX 2048

/* 0, or -EBADMSG. */
int ssh_identities_begin(struct ssh_span body, struct ssh_identities *ret);
/* 1: one key; 0: the end, after which nothing follows; -EBADMSG. */
int ssh_identities_next(struct ssh_identities *i, struct ssh_span *ret_key, struct ssh_span *ret_comment);

/* True where body is a signature as an agent answers it, and nothing else. */
bool ssh_signature_is_valid(struct ssh_span body);

#endif
