#include "daemon/session/kept.h"

#include "base/limits.h"
#include "proto/stream.h"

static size_t first(const struct kept *k)
{
	size_t at = 0;

	while (k->frames.len - at > LIMIT_LAST_OUTPUT)
		at += STREAM_HEADER + stream_u32((const uint8_t *)k->frames.data + at + 4);
	return at;
}

/* Only now and then, so that what stays is not moved for each piece. */
static void trim(struct kept *k)
{
	if (k->frames.len >= 2 * (size_t)LIMIT_LAST_OUTPUT)
		buffer_consume(&k->frames, first(k));
}

void kept_add(struct kept *k, uint8_t type, const char *data, size_t n)
{
	k->frames.max = 2 * LIMIT_LAST_OUTPUT + STREAM_HEADER + KEPT_PIECE;
	for (size_t at = 0; at < n; at += KEPT_PIECE) {
		size_t len = n - at < KEPT_PIECE ? n - at : KEPT_PIECE;

		(void)stream_append(&k->frames, type, data + at, len);
		trim(k);
	}
}

bool kept_next(const struct kept *k, size_t *at, uint8_t *ret_type, const char **ret, size_t *ret_len)
{
	struct stream_frame f;
	long n;

	if (*at == 0)
		*at = first(k);
	n = stream_parse((const uint8_t *)k->frames.data + *at, k->frames.len - *at, &f);
	if (n <= 0)
		return false;
	*ret_type = f.type;
	*ret = (const char *)f.payload;
	*ret_len = f.len;
	*at += (size_t)n;
	return true;
}

void kept_done(struct kept *k)
{
	buffer_done(&k->frames);
}
