#ifndef ISOD_SSHAGENT_SSH_PUBLIC_KEY_H
#define ISOD_SSHAGENT_SSH_PUBLIC_KEY_H
/* Public keys as people and files write them: "ssh-ed25519 AAAA... comment". */
#include <sys/types.h>

#include "sshagent/ssh_wire.h"

/* Bytes written; -EBADMSG where it is no base64 of whole groups, -ENOBUFS. */
ssize_t ssh_base64_decode(const char *text, size_t len, uint8_t *ret, size_t size);

/*
 * The key's own bytes. What follows it is a comment. -EBADMSG where it is no key, -EOPNOTSUPP where it is one of a kind
 * whose signatures ssh_signature_verify() does not know, -ENOBUFS.
 */
int ssh_public_key_parse(const char *text, size_t len, uint8_t *ret, size_t size, size_t *ret_len);

#endif
