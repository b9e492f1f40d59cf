#ifndef ISOD_SSHAGENT_SSH_VERDICT_H
#define ISOD_SSHAGENT_SSH_VERDICT_H
/*
 * What is signed, and what is not. One struct ssh_bound for each connection of a program: what it was bound to by
 * session-bind@openssh.com, which ssh sends before it logs in, with the host's own signature over the session id.
 */
#include "sshagent/ssh_request.h"
#include "sshagent/ssh_rules.h"
#include "sshagent/ssh_signed.h"

enum ssh_reason {
	SSH_ALLOWED,
	SSH_NOT_SERVED, /* adding, removing, locking, unknown extensions: whatever is no list, signature or bind */
	SSH_MALFORMED,
	SSH_KEY_NOT_NAMED,
	SSH_NOT_BOUND, /* a login on a connection that no host has vouched for, or for another session */
	SSH_HOST_NOT_NAMED,
	SSH_FORWARDED, /* the connection would serve another machine */
	SSH_BAD_PROOF, /* the host key's signature is not over this session */
	SSH_BOUND_ALREADY,
	SSH_NAMESPACE,      /* a signature for something else than git, or git is not allowed */
	SSH_NOT_RECOGNISED, /* neither a login nor a signature file: arbitrary bytes */
	SSH_NOT_HOSTBOUND,  /* a login whose bytes do not name the host, where the policy wants them to */
	SSH_WEAK_HASH,      /* an RSA key with SHA-1 */
	SSH_AGENT_FAILED,   /* the user's own agent refused or is gone */
	SSH_REASON_COUNT
};

/* "allowed", "key-not-named", ... as in the audit log. */
const char *ssh_reason_name(uint32_t reason);

enum ssh_bound_state { SSH_UNBOUND, SSH_BOUND_TO_HOST, SSH_BOUND_ELSEWHERE, SSH_BOUND_FORWARDED };

struct ssh_bound {
	enum ssh_bound_state state; /* the last two are for good: no login; after the last nothing */
	const char *host;           /* of the rules */
	struct ssh_span host_key;   /* in the rules */
	uint8_t session_id[SSH_SESSION_ID_MAX];
	size_t session_id_len;
};

/* signature: as the host sent it, over data. */
typedef bool ssh_verify_fn(struct ssh_span key, struct ssh_span signature, struct ssh_span data);

/* request: SSH_REQUEST_BIND. *ret_target: the host, where it is named; else "". */
enum ssh_reason ssh_verdict_bind(const struct ssh_rules *rules, struct ssh_bound *bound,
				 const struct ssh_request *request, ssh_verify_fn *verify, const char **ret_target);

/* request: SSH_REQUEST_SIGN. named: whether the policy names its key. target: the host or the namespace, "" where none
 * is known; at least SSH_TARGET_MAX bytes, always terminated, printable ASCII. */
#define SSH_TARGET_MAX 256
enum ssh_reason ssh_verdict_sign(const struct ssh_rules *rules, const struct ssh_bound *bound,
				 const struct ssh_request *request, bool named, char target[SSH_TARGET_MAX]);

#endif
