#ifndef ISOD_SESSION_GATEWAY_REFUSAL_TEXT_H
#define ISOD_SESSION_GATEWAY_REFUSAL_TEXT_H
/* An HTTP refusal as bytes: head and body, for people or, where asked for, JSON. Pure. */
#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "policy/egress.h"

/* Texts are never NULL; "" is not said. */
struct refusal_text {
	unsigned status;
	uint32_t reason; /* enum egress_reason */
	const char *message;
	const char *authority; /* "host:port" */
	const char *host;
	uint16_t port;
	const struct egress_rule *rule; /* that decided; NULL */
	const char *program;            /* bytes of the session's: escaped here */
	uint32_t pid;
	const char *session;
	const char *command;  /* whose --allow-domain would allow it: "isoctl run" */
	uint32_t retry_after; /* seconds; 0: not said */
	bool json;
};

/* 0, -EMSGSIZE, -ENOMEM. */
int refusal_text_append(const struct refusal_text *t, struct buffer *ret);

#endif
