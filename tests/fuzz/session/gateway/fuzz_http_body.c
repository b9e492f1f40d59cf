/* Chunked bodies: cut anywhere, the verdict and the end are the same. */
#include <stdlib.h>
#include <string.h>

#include "daemon/session/gateway/http_body.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where the body ends; size where it does not; -1 where it is malformed. */
static ssize_t end_of_body(const char *data, size_t size, size_t step, bool *ret_done)
{
	struct http_body b;
	size_t at = 0;

	http_body_init(&b, HTTP_BODY_CHUNKED, 0);
	while (at < size && !b.done) {
		size_t n = size - at < step ? size - at : step;
		ssize_t used = http_body_feed(&b, data + at, n);

		if (used < 0)
			return -1;
		if ((size_t)used > n || ((size_t)used < n && !b.done))
			abort();
		at += (size_t)used;
	}
	*ret_done = b.done;
	return (ssize_t)at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	bool whole_done = false, parts_done = false;
	ssize_t whole = end_of_body(text, size, size ? size : 1, &whole_done);

	for (size_t step = 1; step < 8; step += 3)
		if (end_of_body(text, size, step, &parts_done) != whole || (whole >= 0 && parts_done != whole_done))
			abort();
	return 0;
}
