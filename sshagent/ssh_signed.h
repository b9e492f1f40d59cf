#ifndef ISOD_SSHAGENT_SSH_SIGNED_H
#define ISOD_SSHAGENT_SSH_SIGNED_H
/*
 * What the bytes mean that an agent is asked to sign. Only two forms are known, and they cannot be taken for one
 * another: a login begins with the length of a session id, at most 64; the other with the letters SSHSIG.
 */
#include "sshagent/ssh_wire.h"

enum ssh_signed_kind {
	SSH_SIGNED_OTHER,     /* not to be signed, ever */
	SSH_SIGNED_LOGIN,     /* RFC 4252, publickey: session_id, key, host_key */
	SSH_SIGNED_SIGNATURE, /* OpenSSH's PROTOCOL.sshsig: name */
};

/* A session id is a hash of the key exchange. */
#define SSH_SESSION_ID_MAX 64

struct ssh_signed {
	enum ssh_signed_kind kind;
	struct ssh_span session_id; /* 1..SSH_SESSION_ID_MAX bytes */
	struct ssh_span key;        /* that the login is for */
	struct ssh_span host_key;   /* of publickey-hostbound; else empty */
	struct ssh_span name;       /* the namespace: "git", "file" */
};

void ssh_signed_parse(struct ssh_span data, struct ssh_signed *ret);

#endif
