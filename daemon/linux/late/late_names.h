#ifndef ISOD_LINUX_LATE_NAMES_H
#define ISOD_LINUX_LATE_NAMES_H
/* Names of rules as the record holds them. Pure. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/linux/late/late_record.h"

struct late_name {
	char head[LATE_HEAD]; /* zero beyond its length */
	char tail[LATE_TAIL];
	unsigned head_len;
	unsigned tail_len;
	bool star;
};

/* Reads one component of a pattern (view/path_pattern.h). 0, or -EOPNOTSUPP where the record has no form for it. */
int late_names_parse(const char *pattern, size_t len, struct late_name *ret);

struct late_names_entry {
	struct late_name name;
	unsigned long long fits[LATE_DEPTH];
};

/* While a record is filled. */
struct late_names {
	struct late_record *record;
	unsigned n_stars;
	unsigned n_plain;
	unsigned n_sets;
	struct late_names_entry stars[LATE_STARS];
	struct late_names_entry plain[LATE_PLAIN / 2];
};

void late_names_init(struct late_names *names, struct late_record *record);

/* The name stands, at this place (0 = the last name), for the rule of this bit as well. 0, -ENOSPC where there is no
 * room; the record is then as before. */
int late_names_add(struct late_names *names, const struct late_name *name, unsigned place, unsigned bit);

/* Completes the record. 0; -EILSEQ where another seed is needed, -ENOSPC where there are too many different sets. */
int late_names_finish(struct late_names *names);

#endif
