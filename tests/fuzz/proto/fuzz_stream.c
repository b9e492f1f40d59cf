/* Raw frames: what is taken is written again and must be the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "proto/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream_frame f;
	size_t at = 0;
	long r;

	while ((r = stream_parse(data + at, size - at, &f)) > 0) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_FRAME + STREAM_HEADER);

		if ((size_t)r > size - at || f.len > LIMIT_FRAME)
			abort();
		if (stream_append(&b, f.type, f.payload, f.len) < 0 || b.len != (size_t)r ||
		    memcmp(b.data, data + at, b.len) != 0)
			abort();
		at += (size_t)r;
	}
	return 0;
}
