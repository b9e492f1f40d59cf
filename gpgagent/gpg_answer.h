#ifndef ISOD_GPGAGENT_GPG_ANSWER_H
#define ISOD_GPGAGENT_GPG_ANSWER_H
/* Lines that a gpg-agent answers with (Assuan). */
#include <stddef.h>

enum gpg_answer_kind {
	GPG_ANSWER_NOTHING, /* a status, a comment: more will come */
	GPG_ANSWER_OK,
	GPG_ANSWER_ERROR,   /* .error */
	GPG_ANSWER_DATA,    /* .data: escaped, as it came */
	GPG_ANSWER_INQUIRE, /* the agent asks back; the client has nothing to say */
	GPG_ANSWER_BAD,     /* no line of the protocol */
};

struct gpg_answer {
	enum gpg_answer_kind kind;
	unsigned error;
	const char *data; /* in the line */
	size_t len;
};

/* line: without its end. */
void gpg_answer_parse(const char *line, size_t len, struct gpg_answer *ret);

#endif
