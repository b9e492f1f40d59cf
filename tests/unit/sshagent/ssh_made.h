#ifndef ISOD_TESTS_SSH_MADE_H
#define ISOD_TESTS_SSH_MADE_H
/* Messages of the agent protocol, as ssh makes them. */
#include <string.h>

#include "sshagent/ssh_request.h"

static inline struct ssh_span span_of(const char *text)
{
	return (struct ssh_span){ (const uint8_t *)text, strlen(text) };
}

static inline struct ssh_span span_of_buffer(const struct buffer *b)
{
	return (struct ssh_span){ (const uint8_t *)b->data, b->len };
}

static inline void put(struct buffer *b, const char *text)
{
	ssh_write_string(b, span_of(text));
}

static inline void put_login(struct buffer *b, const char *session, const char *method, const char *key,
			     const char *host_key)
{
	put(b, session);
	buffer_append_u8(b, 50);
	put(b, "git");
	put(b, "ssh-connection");
	put(b, method);
	buffer_append_u8(b, 1);
	put(b, "ssh-ed25519");
	put(b, key);
	if (host_key)
		put(b, host_key);
}

static inline void put_signature(struct buffer *b, const char *name, const char *algorithm, size_t hash_len)
{
	static const uint8_t hash[64];

	buffer_append(b, "SSHSIG", 6);
	put(b, name);
	put(b, "");
	put(b, algorithm);
	ssh_write_string(b, (struct ssh_span){ hash, hash_len });
}

#endif
