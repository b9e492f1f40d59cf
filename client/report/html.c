#include "client/report/html.h"

#include <string.h>

#include "client/escape.h"

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

int html_append(struct buffer *out, const char *text, size_t n)
{
	_cleanup_buffer_ struct buffer plain = BUFFER_INIT(8 * n + 16);
	int r = escape_append(&plain, text, n);
	size_t done = 0;

	for (size_t i = 0; r == 0 && i < plain.len; i++) {
		const char *e = entity(plain.data[i]);

		if (!e)
			continue;
		r = buffer_append(out, plain.data + done, i - done);
		if (r == 0)
			r = buffer_append_string(out, e);
		done = i + 1;
	}
	return r < 0 ? r : buffer_append(out, plain.data + done, plain.len - done);
}

int html_append_string(struct buffer *out, const char *text)
{
	return html_append(out, text, strlen(text));
}
