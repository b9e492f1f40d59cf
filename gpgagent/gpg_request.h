#ifndef ISOD_GPGAGENT_GPG_REQUEST_H
#define ISOD_GPGAGENT_GPG_REQUEST_H
/* Lines of the Assuan protocol as gpg sends them to its agent: what a session needs to sign, and nothing else. */
#include <sys/types.h>

#include "gpgagent/gpg_rules.h"

enum gpg_request_kind {
	GPG_REQUEST_OTHER,      /* one that is never served */
	GPG_REQUEST_HAVEKEY,    /* .grips: as they were sent, .n_grips of them */
	GPG_REQUEST_SIGKEY,     /* .grip */
	GPG_REQUEST_SETHASH,    /* .algorithm, .digest */
	GPG_REQUEST_SIGN,       /* PKSIGN */
	GPG_REQUEST_RESET,      /* forgets key and hash */
	GPG_REQUEST_NOTHING,    /* NOP, SETKEYDESC, an option without effect: answered, and that is all */
	GPG_REQUEST_OPTION,     /* any other option: refused as the restricted socket does, which gpg expects */
	GPG_REQUEST_VERSION,    /* GETINFO version */
	GPG_REQUEST_RESTRICTED, /* GETINFO restricted */
	GPG_REQUEST_BYE,
	GPG_REQUEST_SILENT, /* a comment or an empty line: no answer */
	GPG_REQUEST_KIND_COUNT
};

/* Numbers of OpenPGP (RFC 9580, 9.5). */
enum gpg_hash { GPG_SHA1 = 2, GPG_SHA256 = 8, GPG_SHA384 = 9, GPG_SHA512 = 10, GPG_SHA224 = 11 };

/* 64 bytes in hex. */
#define GPG_DIGEST_MAX 128

struct gpg_request {
	enum gpg_request_kind kind;
	const char *word; /* the command, in the line */
	size_t word_len;
	char grip[GPG_GRIP_LEN + 1];
	const char *grips; /* in the line, each followed by one blank or the end */
	size_t n_grips;
	unsigned algorithm;
	char digest[GPG_DIGEST_MAX + 1]; /* upper-case hex; its length may not be that of the algorithm */
};

/* The size of the line that begins at data, with its end; 0: it is not all there yet; -EMSGSIZE: it is longer than
 * LIMIT_ASSUAN_LINE. */
ssize_t gpg_line_size(const char *data, size_t len);

/* line: without its end. 0, or -EBADMSG where a command that is served is not well-formed. */
int gpg_request_parse(const char *line, size_t len, struct gpg_request *ret);

/* "havekey", "sign", ... as in the audit log. */
const char *gpg_request_name(unsigned kind);

#endif
