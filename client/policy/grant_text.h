#ifndef ISOD_CLIENT_GRANT_TEXT_H
#define ISOD_CLIENT_GRANT_TEXT_H
/* A grant of a session for people. */
#include "base/buffer.h"
#include "json/value.h"

/* grant: an item of "grants". "HOST:PORT (for one connection, until 2026-01-01T00:00:00.000Z)" and a line feed. */
int grant_text_append(struct buffer *out, const struct json_value *grant);

#endif
