#ifndef ISOD_SSHAGENT_SSH_CRYPTO_H
#define ISOD_SSHAGENT_SSH_CRYPTO_H
/* The only user of libcrypto in this room: who links it does so for these. */
#include "sshagent/ssh_rules.h"

/* Loads what the others need, so that they open no file later. 0 or -EIO. */
int ssh_crypto_prepare(void);

/* As ssh-keygen -l shows it. "" where there is no memory. */
void ssh_fingerprint(struct ssh_span key, char ret[SSH_FINGERPRINT_SIZE]);

/* ssh_verify_fn: Ed25519, ECDSA on the NIST curves, RSA of at least 2048 bits with SHA-2. */
bool ssh_signature_verify(struct ssh_span key, struct ssh_span signature, struct ssh_span data);

/* ssh_hmac_fn */
bool ssh_hmac_sha1(const uint8_t salt[20], const char *text, uint8_t ret[20]);

#endif
