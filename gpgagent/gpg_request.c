#include "gpgagent/gpg_request.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const names[] = {
	[GPG_REQUEST_OTHER] = "other",           [GPG_REQUEST_HAVEKEY] = "havekey", [GPG_REQUEST_SIGKEY] = "sigkey",
	[GPG_REQUEST_SETHASH] = "sethash",       [GPG_REQUEST_SIGN] = "sign",       [GPG_REQUEST_RESET] = "reset",
	[GPG_REQUEST_NOTHING] = "nothing",       [GPG_REQUEST_OPTION] = "option",   [GPG_REQUEST_VERSION] = "version",
	[GPG_REQUEST_RESTRICTED] = "restricted", [GPG_REQUEST_BYE] = "bye",         [GPG_REQUEST_SILENT] = "silent",
};
_Static_assert(ARRAY_SIZE(names) == GPG_REQUEST_KIND_COUNT, "one name a kind");

const char *gpg_request_name(unsigned kind)
{
	return kind < GPG_REQUEST_KIND_COUNT ? names[kind] : "unknown";
}

ssize_t gpg_line_size(const char *data, size_t len)
{
	const char *end = memchr(data, '\n', len < LIMIT_ASSUAN_LINE ? len : LIMIT_ASSUAN_LINE);

	if (end)
		return end - data + 1;
	return len < LIMIT_ASSUAN_LINE ? 0 : -EMSGSIZE;
}

/* What is left of a line. */
struct text {
	const char *at;
	size_t len;
};

static struct text next_word(struct text *rest)
{
	struct text word = { rest->at, 0 };

	while (word.len < rest->len && word.at[word.len] != ' ')
		word.len++;
	rest->at += word.len;
	rest->len -= word.len;
	while (rest->len > 0 && rest->at[0] == ' ') {
		rest->at++;
		rest->len--;
	}
	return word;
}

static bool is(struct text word, const char *name)
{
	return word.len == strlen(name) && memcmp(word.at, name, word.len) == 0;
}

static int parse_nothing(struct text rest, struct gpg_request *q)
{
	return 0;
}

/* RESET, PKSIGN, BYE: options and arguments would ask for more than is understood here. */
static int parse_bare(struct text rest, struct gpg_request *q)
{
	if (rest.len > 0)
		q->kind = GPG_REQUEST_OTHER;
	return 0;
}

static int parse_havekey(struct text rest, struct gpg_request *q)
{
	const size_t len = rest.len;
	char grip[GPG_GRIP_LEN + 1];

	q->grips = rest.at;
	/* HAVEKEY --list=N: which keys the user has is nobody's business. */
	if (rest.len > 1 && memcmp(rest.at, "--", 2) == 0)
		q->kind = GPG_REQUEST_OTHER;
	while (q->kind == GPG_REQUEST_HAVEKEY && rest.len > 0) {
		struct text word = next_word(&rest);

		if (!gpg_grip_canonical(word.at, word.len, grip))
			return -EBADMSG;
		q->n_grips++;
	}
	/* One blank between two: .grips is read by that. */
	return q->kind == GPG_REQUEST_HAVEKEY && (q->n_grips == 0 || q->n_grips * (GPG_GRIP_LEN + 1) != len + 1)
		       ? -EBADMSG
		       : 0;
}

static int parse_sigkey(struct text rest, struct gpg_request *q)
{
	return gpg_grip_canonical(rest.at, rest.len, q->grip) ? 0 : -EBADMSG;
}

static const struct {
	const char *name;
	unsigned algorithm;
} hashes[] = {
	{ "2", GPG_SHA1 },
	{ "8", GPG_SHA256 },
	{ "9", GPG_SHA384 },
	{ "10", GPG_SHA512 },
	{ "11", GPG_SHA224 },
	{ "--hash=sha1", GPG_SHA1 },
	{ "--hash=sha224", GPG_SHA224 },
	{ "--hash=sha256", GPG_SHA256 },
	{ "--hash=sha384", GPG_SHA384 },
	{ "--hash=sha512", GPG_SHA512 },
};

static int parse_sethash(struct text rest, struct gpg_request *q)
{
	struct text word = next_word(&rest);

	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++)
		if (is(word, hashes[i].name))
			q->algorithm = hashes[i].algorithm;
	if (q->algorithm == 0) { /* --inquire, what is no hash, MD5 */
		q->kind = GPG_REQUEST_OTHER;
		return 0;
	}
	if (rest.len == 0 || rest.len > GPG_DIGEST_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < rest.len; i++) {
		char c = rest.at[i];

		if (c >= 'a' && c <= 'f')
			c = (char)(c - 'a' + 'A');
		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F')))
			return -EBADMSG;
		q->digest[i] = c;
	}
	return 0;
}

static int parse_getinfo(struct text rest, struct gpg_request *q)
{
	if (is(rest, "version"))
		q->kind = GPG_REQUEST_VERSION;
	else if (is(rest, "restricted"))
		q->kind = GPG_REQUEST_RESTRICTED;
	return 0;
}

/* Of what gpg sets, the restricted socket takes only what changes nothing. */
static int parse_option(struct text rest, struct gpg_request *q)
{
	static const char harmless[] = "agent-awareness";

	if (rest.len > strlen(harmless) && memcmp(rest.at, harmless, strlen(harmless)) == 0 &&
	    (rest.at[strlen(harmless)] == '=' || rest.at[strlen(harmless)] == ' '))
		q->kind = GPG_REQUEST_NOTHING;
	return 0;
}

static const struct {
	const char *name;
	enum gpg_request_kind kind; /* until parse() knows better */
	int (*parse)(struct text rest, struct gpg_request *q);
} commands[] = {
	{ "HAVEKEY", GPG_REQUEST_HAVEKEY, parse_havekey },
	{ "SIGKEY", GPG_REQUEST_SIGKEY, parse_sigkey },
	{ "SETHASH", GPG_REQUEST_SETHASH, parse_sethash },
	{ "SETKEYDESC", GPG_REQUEST_NOTHING, parse_nothing }, /* what the user is asked is not for a program to write */
	{ "PKSIGN", GPG_REQUEST_SIGN, parse_bare },
	{ "GETINFO", GPG_REQUEST_OTHER, parse_getinfo },
	{ "OPTION", GPG_REQUEST_OPTION, parse_option },
	{ "RESET", GPG_REQUEST_RESET, parse_bare },
	{ "NOP", GPG_REQUEST_NOTHING, parse_nothing },
	{ "BYE", GPG_REQUEST_BYE, parse_nothing },
};

int gpg_request_parse(const char *line, size_t len, struct gpg_request *ret)
{
	struct text rest = { line, len }, word;

	*ret = (struct gpg_request){ .kind = GPG_REQUEST_OTHER };
	if (rest.len > 0 && line[rest.len - 1] == '\r')
		rest.len--;
	if (rest.len == 0 || line[0] == '#') {
		ret->kind = GPG_REQUEST_SILENT;
		return 0;
	}
	word = next_word(&rest);
	ret->word = word.at;
	ret->word_len = word.len;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!is(word, commands[i].name))
			continue;
		ret->kind = commands[i].kind;
		return commands[i].parse(rest, ret);
	}
	return 0;
}
