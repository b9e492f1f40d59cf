#include "client/run/detach_keys.h"

#include <errno.h>
#include <string.h>

/* One key of len characters; -EINVAL. */
static int parse_key(const char *text, size_t len, uint8_t *ret)
{
	static const char prefix[] = "ctrl-";
	char c;

	if (len == 1 && text[0] > 0x20 && text[0] < 0x7f) {
		*ret = (uint8_t)text[0];
		return 0;
	}
	if (len != sizeof(prefix) || strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return -EINVAL;
	c = text[len - 1];
	if (c >= 'a' && c <= 'z')
		c = (char)(c - 'a' + 'A');
	if (c < '@' || c > '_')
		return -EINVAL;
	*ret = (uint8_t)(c - '@');
	return 0;
}

int detach_keys_parse(const char *text, struct detach_keys *ret)
{
	*ret = (struct detach_keys){ .n = 0 };
	while (*text) {
		/* A comma that is itself a key stands alone. */
		size_t len = text[0] == ',' ? 1 : strcspn(text, ",");

		if (ret->n == DETACH_KEYS_MAX || parse_key(text, len, &ret->keys[ret->n++]) < 0)
			return -EINVAL;
		text += len;
		if (*text == '\0')
			break;
		if (*text++ != ',' || *text == '\0')
			return -EINVAL;
	}
	return 0;
}

int detach_keys_option(const char *text, struct detach_keys *ret, struct error *e)
{
	if (detach_keys_parse(text ? text : DETACH_KEYS_DEFAULT, ret) == 0)
		return 0;
	return error_set(e, ERROR_INVALID, EINVAL, "options", "Write keys with commas between, such as ctrl-p,ctrl-q.",
			 "--detach-keys: %s are no keys.", text);
}

/* The held keys and c do not go on as they must: sends on what cannot be the beginning any more. */
static int fall_back(struct detach_keys *k, uint8_t c, struct buffer *out)
{
	uint8_t held[DETACH_KEYS_MAX + 1];
	size_t n = k->matched, drop = 1;

	memcpy(held, k->keys, n);
	held[n++] = c;
	while (drop < n && memcmp(held + drop, k->keys, n - drop) != 0)
		drop++;
	k->matched = n - drop;
	return buffer_append(out, held, drop);
}

int detach_keys_feed(struct detach_keys *k, const void *data, size_t n, struct buffer *out, bool *ret_typed)
{
	const uint8_t *at = data;
	int r = 0;

	*ret_typed = false;
	if (k->n == 0)
		return buffer_append(out, data, n);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (at[i] != k->keys[k->matched]) {
			r = fall_back(k, at[i], out);
		} else if (++k->matched == k->n) {
			k->matched = 0;
			*ret_typed = true;
			return 0;
		}
	}
	return r;
}

int detach_keys_flush(struct detach_keys *k, struct buffer *out)
{
	size_t n = k->matched;

	k->matched = 0;
	return buffer_append(out, k->keys, n);
}
