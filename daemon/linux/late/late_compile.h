#ifndef ISOD_LINUX_LATE_COMPILE_H
#define ISOD_LINUX_LATE_COMPILE_H
/*
 * Rules of a plan as the record that the kernel's side of the late guard reads. Pure: no system call.
 *
 * Not every rule has such a form: more than one "*" in a name, "?", "[]", "**" between names, more than LATE_DEPTH
 * names below a granted folder, long names, what shows only by looking into a file, and whatever does not fit any more.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/linux/late/late_record.h"
#include "view/path_rules.h"

enum late_state {
	LATE_NO_NEED, /* says nothing about what may appear below a granted folder */
	LATE_GUARDED,
	LATE_UNGUARDED, /* has no such form; of an exception: refuses more than the rules say */
};

/* A granted folder, or one below it that a rule's "**" hangs in. */
struct late_place {
	const char *path; /* clean, absolute, as the rules name it */
	uint64_t inode;   /* its address in the kernel; not 0 */
};

struct late_compile {
	const struct path_rule *rules;
	size_t n_rules;
	const struct late_place *places;
	size_t n_places;
	/* A mount keeps it from being written: room for such a literal rule is not needed, and is what the others
	 * leave. NULL: nothing is locked. */
	bool (*is_locked)(void *data, const char *path);
	void *data;
	/* What is looked into is neither moved nor linked, whatever is in it: so it keeps the name that it is asked
	 * about by. Such a rule is LATE_UNGUARDED nevertheless. */
	bool keep_names;
	uint64_t seed; /* of the names' hashes; not known to the program */
};

/* Fills *ret, and states[n_rules]. How many rules that deny are LATE_UNGUARDED, or -ENOSPC: more than LATE_ROOTS
 * places, -EILSEQ: two names have one hash, try another seed. */
int late_compile(const struct late_compile *c, struct late_record *ret, enum late_state *states);

/* The literal folder that the rule's "**" hangs in, "/" where it begins with it; cut to size. False: it has none. */
bool late_compile_anchor(const struct path_rule *rule, char *ret, size_t size);

#endif
