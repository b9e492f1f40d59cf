#ifndef ISOD_VIEW_PATH_ABOVE_H
#define ISOD_VIEW_PATH_ABOVE_H
/* What is above denials and must stay where it is. Pure, a part of path_rules.c. */
#include <stddef.h>

#include "view/path_index.h"
#include "view/path_rules.h"

/* For two indexes. Without arrays and text it is only counted. */
struct path_above {
	struct path_index_entry *plain; /* these paths are denied, or something just below their parents is */
	size_t n_plain;
	struct path_index_entry *parts; /* these are to be kept themselves */
	size_t n_parts;
	char *text;
	size_t bytes;
};

void path_above_collect(const struct path_rule *rules, size_t n, struct path_above *a);

#endif
