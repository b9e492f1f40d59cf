#include "gpgagent/gpg_verdict.h"

#include <string.h>

#include "base/cleanup.h"

/* libgpg-error: the source gpg-agent, then its number. */
#define AGENT_ERROR(number) ((4u << 24) | (number))

static const struct {
	const char *name;
	unsigned error;
} reasons[] = {
	[GPG_ALLOWED] = { "allowed", 0 },
	[GPG_NOT_SERVED] = { "not-served", AGENT_ERROR(251) },         /* Forbidden */
	[GPG_MALFORMED] = { "malformed", AGENT_ERROR(280) },           /* IPC parameter error */
	[GPG_KEY_NOT_NAMED] = { "key-not-named", AGENT_ERROR(17) },    /* No secret key */
	[GPG_WEAK_HASH] = { "weak-hash", AGENT_ERROR(5) },             /* Invalid digest algorithm */
	[GPG_NOTHING_CHOSEN] = { "nothing-chosen", AGENT_ERROR(128) }, /* Missing value */
	[GPG_AGENT_FAILED] = { "agent-failed", AGENT_ERROR(77) },      /* No agent running */
	[GPG_NOT_RESTRICTED] = { "not-restricted", AGENT_ERROR(77) },
};
_Static_assert(ARRAY_SIZE(reasons) == GPG_REASON_COUNT, "one name a reason");

static const struct {
	const char *name;
	size_t digits;
} hashes[] = {
	[GPG_SHA1] = { "sha1", 0 }, /* never */
	[GPG_SHA224] = { "sha224", 56 }, [GPG_SHA256] = { "sha256", 64 },
	[GPG_SHA384] = { "sha384", 96 }, [GPG_SHA512] = { "sha512", 128 },
};

const char *gpg_reason_name(unsigned reason)
{
	return reason < GPG_REASON_COUNT ? reasons[reason].name : "unknown";
}

unsigned gpg_reason_error(enum gpg_reason reason)
{
	return reasons[reason].error;
}

const char *gpg_hash_name(unsigned algorithm)
{
	return algorithm < ARRAY_SIZE(hashes) && hashes[algorithm].name ? hashes[algorithm].name : "";
}

static bool names_any(const struct gpg_rules *rules, const struct gpg_request *q)
{
	char grip[GPG_GRIP_LEN + 1];

	for (size_t i = 0; i < q->n_grips; i++)
		if (gpg_grip_canonical(q->grips + i * (GPG_GRIP_LEN + 1), GPG_GRIP_LEN, grip) &&
		    gpg_rules_name(rules, grip))
			return true;
	return false;
}

static enum gpg_reason choose_hash(struct gpg_chosen *chosen, const struct gpg_request *q)
{
	chosen->algorithm = 0;
	if (hashes[q->algorithm].digits == 0 || strlen(q->digest) != hashes[q->algorithm].digits)
		return GPG_WEAK_HASH;
	chosen->algorithm = q->algorithm;
	memcpy(chosen->digest, q->digest, sizeof(chosen->digest));
	return GPG_ALLOWED;
}

enum gpg_reason gpg_verdict(const struct gpg_rules *rules, struct gpg_chosen *chosen, const struct gpg_request *q)
{
	switch (q->kind) {
	case GPG_REQUEST_HAVEKEY:
		return names_any(rules, q) ? GPG_ALLOWED : GPG_KEY_NOT_NAMED;
	case GPG_REQUEST_SIGKEY:
		chosen->grip[0] = '\0';
		if (!gpg_rules_name(rules, q->grip))
			return GPG_KEY_NOT_NAMED;
		memcpy(chosen->grip, q->grip, sizeof(chosen->grip));
		return GPG_ALLOWED;
	case GPG_REQUEST_SETHASH:
		return choose_hash(chosen, q);
	case GPG_REQUEST_SIGN:
		return chosen->grip[0] && chosen->algorithm ? GPG_ALLOWED : GPG_NOTHING_CHOSEN;
	case GPG_REQUEST_RESET:
		*chosen = (struct gpg_chosen){ .algorithm = 0 };
		return GPG_ALLOWED;
	case GPG_REQUEST_OPTION:
	case GPG_REQUEST_OTHER:
		return GPG_NOT_SERVED;
	default:
		return GPG_ALLOWED;
	}
}

static int write_havekey(const struct gpg_rules *rules, const struct gpg_request *q, struct buffer *ret)
{
	int r = buffer_append_string(ret, "HAVEKEY");

	for (size_t i = 0; r == 0 && i < q->n_grips; i++) {
		char grip[GPG_GRIP_LEN + 1];

		if (gpg_grip_canonical(q->grips + i * (GPG_GRIP_LEN + 1), GPG_GRIP_LEN, grip) &&
		    gpg_rules_name(rules, grip))
			r = buffer_printf(ret, " %s", grip);
	}
	return r < 0 ? r : buffer_append_string(ret, "\n");
}

int gpg_commands_write(const struct gpg_rules *rules, const struct gpg_chosen *chosen, const struct gpg_request *q,
		       struct buffer *ret)
{
	if (q->kind == GPG_REQUEST_HAVEKEY)
		return write_havekey(rules, q, ret);
	return buffer_printf(ret,
			     "RESET\nSIGKEY %s\n"
			     "SETKEYDESC A+session+of+isod+wants+a+signature.%%0AKeygrip:+%s%%0A%s:+%.16s...\n"
			     "SETHASH %u %s\nPKSIGN\n",
			     chosen->grip, chosen->grip, gpg_hash_name(chosen->algorithm), chosen->digest,
			     chosen->algorithm, chosen->digest);
}
