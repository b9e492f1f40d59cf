#ifndef ISOD_CLIENT_RUN_SSH_H
#define ISOD_CLIENT_RUN_SSH_H
/* What the user has for the session's ssh-agent: a connection to the user's own, and the keys of the named hosts. */
#include "client/policy/policy_texts.h"

/*
 * Where the policy lends something: connects to SSH_AUTH_SOCK (*ret_fd, -1 where that leads nowhere) and appends the
 * keys of the named hosts from the user's and the machine's known_hosts as a policy text. 0 or -errno with *e.
 */
int run_ssh_prepare(struct policy_texts *t, const struct policy *merged, int *ret_fd, struct error *e);

/* Files of the form of known_hosts, n > 0. Appends to *ret the keys of a host that they have and that none of them
 * revokes, one "TYPE BASE64" a line. No file: nothing. 0 or -ENOMEM. */
int run_ssh_host_keys(const char *const *paths, size_t n, const char *host, struct buffer *ret);

#endif
