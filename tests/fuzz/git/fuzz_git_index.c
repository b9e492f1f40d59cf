/* The index of a repository. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/git_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct git_index i;
	const unsigned char *before;

	if (git_index_begin(&i, data, size) < 0)
		return 0;
	for (before = i.at; git_index_next(&i) > 0; before = i.at)
		if (i.at <= before || i.at > i.end || i.len == 0 || strlen(i.name) != i.len)
			abort();
	return 0;
}
