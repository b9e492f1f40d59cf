#ifndef ISOD_CLIENT_DETACH_KEYS_H
#define ISOD_CLIENT_DETACH_KEYS_H
/* The keys by which a user leaves a session that goes on. Pure: what was typed in, what is to be sent on out. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

#define DETACH_KEYS_MAX 8
#define DETACH_KEYS_DEFAULT "ctrl-p,ctrl-q"

struct detach_keys {
	uint8_t keys[DETACH_KEYS_MAX];
	size_t n; /* 0: there are none */
	size_t matched;
};

/* Keys with commas between them: one character, or ctrl- and a letter or one of @ [ \ ] ^ _; "" for none. 0, -EINVAL.
 */
int detach_keys_parse(const char *text, struct detach_keys *ret);

/* The option --detach-keys; NULL: the default. 0, or -EINVAL with *e filled. */
int detach_keys_option(const char *text, struct detach_keys *ret, struct error *e);

/* Appends what is to be sent on; the beginning of the keys is held back until what follows tells. *ret_typed: they were
 * typed; what came after them is dropped. 0 or -errno. */
int detach_keys_feed(struct detach_keys *k, const void *data, size_t n, struct buffer *out, bool *ret_typed);
/* What is held back, when nothing has followed for a while. 0 or -errno. */
int detach_keys_flush(struct detach_keys *k, struct buffer *out);

#endif
