#include <stdint.h>
#include <stdlib.h>

#include "gpgagent/gpg_answer.h"
#include "gpgagent/gpg_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an agent answers: data lies in its line, an error has a number. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	struct gpg_answer got;
	ssize_t n;

	while ((n = gpg_line_size(at, size)) > 0) {
		gpg_answer_parse(at, (size_t)n - 1, &got);
		if ((got.kind == GPG_ANSWER_ERROR) != (got.error > 0))
			abort();
		if (got.kind == GPG_ANSWER_DATA && (got.data < at || got.len == 0 || got.data + got.len > at + n - 1))
			abort();
		at += n;
		size -= (size_t)n;
	}
	return 0;
}
