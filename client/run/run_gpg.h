#ifndef ISOD_CLIENT_RUN_GPG_H
#define ISOD_CLIENT_RUN_GPG_H
/* The user's gpg-agent, by its restricted socket and never by another one. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A connection to the first of run_gpg_socket() that takes one; -1: there is none. */
int run_gpg_connect(void);

/* The places where gpg-agent has it, the i-th in the order in which gpg looks: in the folder of the user's session,
 * else in GnuPG's own. gnupghome: as GNUPGHOME says, or NULL; home: of the user. False: there are no more. */
bool run_gpg_socket(size_t i, uid_t uid, const char *home, const char *gnupghome, char *ret, size_t size);

#endif
