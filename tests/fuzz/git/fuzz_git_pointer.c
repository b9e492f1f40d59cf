/* .git files, commondir and gitdir, alternates. */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/git_path.h"
#include "git/git_pointer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is a path that can be joined, and is clean then. */
static void check(const char *path)
{
	char clean[PATH_MAX], again[PATH_MAX];

	if (!path[0] || strlen(path) >= PATH_MAX)
		abort();
	if (git_path_join("/base/folder", path, clean, sizeof(clean)) < 0)
		return;
	if (git_path_join("/", clean, again, sizeof(again)) < 0 || strcmp(clean, again) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data, *at = text, *end = text + size;
	char path[PATH_MAX];
	int r;

	if (git_pointer_read_gitfile(text, size, path, sizeof(path)) == 0)
		check(path);
	if (git_pointer_read_line(text, size, path, sizeof(path)) == 0)
		check(path);
	while ((r = git_pointer_next_alternate(&at, end, path, sizeof(path))) != 0) {
		if (at > end || at == text)
			abort();
		if (r > 0)
			check(path);
	}
	return 0;
}
