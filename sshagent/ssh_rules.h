#ifndef ISOD_SSHAGENT_SSH_RULES_H
#define ISOD_SSHAGENT_SSH_RULES_H
/* What of the user's ssh-agent a session is lent, as isod-control tells isod-session. */
#include "sshagent/ssh_wire.h"

struct ssh_host_key {
	const char *host; /* as the policy names it */
	struct ssh_span key;
};

struct ssh_rules {
	bool git_signatures;
	bool hostbound;          /* logins must name the host in what is signed */
	const char *const *keys; /* "SHA256:..." or the comment of a key */
	uint32_t n_keys;
	const struct ssh_host_key *host_keys;
	uint32_t n_host_keys;
};

/* "SHA256:", 43 characters of base64, NUL. */
#define SSH_FINGERPRINT_SIZE 52
#define SSH_HOST_NAME_MAX 255

/* Appends the wire form. -EMSGSIZE past the bounds of base/limits.h. */
int ssh_rules_encode(const struct ssh_rules *rules, struct buffer *ret);

/* The texts lie in data, the arrays in one heap block to free(). 0, -EBADMSG, -ENOMEM. */
int ssh_rules_decode(const void *data, size_t len, struct ssh_rules *ret, void **ret_block);

/* Whether a key is named, by its fingerprint or by its comment. */
bool ssh_rules_name_key(const struct ssh_rules *rules, const char *fingerprint, struct ssh_span comment);
/* The host that has this key, or NULL. */
const char *ssh_rules_host_of(const struct ssh_rules *rules, struct ssh_span key);

#endif
