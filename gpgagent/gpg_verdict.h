#ifndef ISOD_GPGAGENT_GPG_VERDICT_H
#define ISOD_GPGAGENT_GPG_VERDICT_H
/*
 * What is signed, and what is not. One struct gpg_chosen for each connection of a program: what it has chosen for its
 * next PKSIGN. Nothing that a program writes reaches the user's agent; what does is written here, from these.
 */
#include "base/buffer.h"
#include "gpgagent/gpg_request.h"

enum gpg_reason {
	GPG_ALLOWED,
	GPG_NOT_SERVED, /* whatever is not needed to sign: keys made, moved, removed, decryption, the agent itself */
	GPG_MALFORMED,
	GPG_KEY_NOT_NAMED,
	GPG_WEAK_HASH,      /* SHA-1, or a digest that is not as long as its hash */
	GPG_NOTHING_CHOSEN, /* PKSIGN without a key and a hash before it */
	GPG_AGENT_FAILED,   /* the user's own agent refused or is gone */
	GPG_NOT_RESTRICTED, /* what was lent is not the agent's restricted socket: nothing is ever asked of it */
	GPG_REASON_COUNT
};

/* "allowed", "key-not-named", ... as in the audit log. */
const char *gpg_reason_name(unsigned reason);

/* What gpg makes of a refusal: a number of libgpg-error with gpg-agent as its source. */
unsigned gpg_reason_error(enum gpg_reason reason);

struct gpg_chosen {
	char grip[GPG_GRIP_LEN + 1]; /* "": none */
	unsigned algorithm;          /* 0: none */
	char digest[GPG_DIGEST_MAX + 1];
};

/* Takes over what the request chooses, where it is allowed. */
enum gpg_reason gpg_verdict(const struct gpg_rules *rules, struct gpg_chosen *chosen, const struct gpg_request *q);

/* "sha256", ... */
const char *gpg_hash_name(unsigned algorithm);

/* What the agent is asked, one command a line, for a request that is allowed: HAVEKEY or SIGN. 0 or -errno. */
int gpg_commands_write(const struct gpg_rules *rules, const struct gpg_chosen *chosen, const struct gpg_request *q,
		       struct buffer *ret);

#endif
