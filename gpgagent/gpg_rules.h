#ifndef ISOD_GPGAGENT_GPG_RULES_H
#define ISOD_GPGAGENT_GPG_RULES_H
/* Which keys of the user's gpg-agent a session is lent, as isod-control tells isod-session. */
#include <stdbool.h>
#include <stddef.h>

#include "base/limits.h"

/* 20 bytes in upper-case hex: gpg --list-secret-keys --with-keygrip. */
#define GPG_GRIP_LEN 40

struct gpg_rules {
	const char *grips; /* n of GPG_GRIP_LEN each, one after the other; somebody else's memory */
	size_t n;
};

/* The wire form is .grips as it is. 0, or -EBADMSG where it is none of 1 to LIMIT_GPG_KEYS keygrips. */
int gpg_rules_decode(const void *data, size_t len, struct gpg_rules *ret);

/* text: GPG_GRIP_LEN characters. */
bool gpg_rules_name(const struct gpg_rules *rules, const char *text);

/* Takes hex digits of either case, len of them; ret: in upper case, terminated. False where they are no keygrip. */
bool gpg_grip_canonical(const char *text, size_t len, char ret[GPG_GRIP_LEN + 1]);

#endif
