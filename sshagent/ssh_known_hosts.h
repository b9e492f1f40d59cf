#ifndef ISOD_SSHAGENT_SSH_KNOWN_HOSTS_H
#define ISOD_SSHAGENT_SSH_KNOWN_HOSTS_H
/* Lines of known_hosts (sshd(8), "SSH_KNOWN_HOSTS FILE FORMAT"), plain and hashed. */
#include "sshagent/ssh_wire.h"

enum ssh_known {
	SSH_KNOWN_NOT,     /* another host's, a comment, a certificate authority's, or no line at all */
	SSH_KNOWN_KEY,     /* *ret_key: "ssh-ed25519 AAAA..." and what follows it */
	SSH_KNOWN_REVOKED, /* the same: a key that must never count for this host */
};

/* HMAC-SHA1 of text under a salt of 20 bytes. False: it cannot be had. */
typedef bool ssh_hmac_fn(const uint8_t salt[20], const char *text, uint8_t ret[20]);

/* The name under which known_hosts has a host of a policy: "host", or "[host]:port" for "host:port" (port 22 is none).
 * False where it is too long. */
bool ssh_known_hosts_name(const char *host, char *ret, size_t size);

/* line: without its end. name: of ssh_known_hosts_name(), in lower case. hmac: NULL leaves hashed lines out. */
enum ssh_known ssh_known_hosts_match(const char *line, size_t len, const char *name, ssh_hmac_fn *hmac,
				     struct ssh_span *ret_key);

#endif
