#ifndef ISOD_CLIENT_FACTS_H
#define ISOD_CLIENT_FACTS_H
/*
 * What a report tells of a session, gathered from the lines of its audit log one by one. Memory is bounded however many
 * there are: of everything the first so many are kept, the others are counted. All texts are foreign: bytes, in the
 * tree form of json/bytes.h.
 */
#include <stdbool.h>
#include <stdint.h>

#include "json/value.h"
#include "json/write.h"

#define FACTS_HOSTS 512
#define FACTS_ITEMS 500
#define FACTS_BINS 120

/* bytes, and connections, of a host and port by one way */
struct facts_host {
	char *name; /* "host:port" */
	uint64_t allowed, denied, out, in;
};

enum facts_list { FACTS_REFUSALS, FACTS_FILES, FACTS_QUESTIONS, FACTS_LIMITS, FACTS_LIST_COUNT };

struct facts_item {
	int64_t at; /* milliseconds since 1970 */
	char *what; /* the event's name, or the reason */
	char *text;
};

struct facts_items {
	struct facts_item *items;
	size_t count;
	uint64_t more; /* that are not kept */
};

struct facts_bin {
	uint64_t allowed, denied;
};

struct facts {
	struct json_document start, exit; /* their lines; the last ones */
	struct facts_host hosts[FACTS_HOSTS];
	size_t n_hosts;
	struct facts_host others; /* .name NULL */
	struct facts_items lists[FACTS_LIST_COUNT];
	struct facts_bin bins[FACTS_BINS]; /* from .first on, each of .bin_ms */
	int64_t first, last;               /* milliseconds since 1970; 0: nothing yet */
	int64_t bin_ms;
	uint64_t lines, unreadable;
};

/* "refusals" and so on. */
extern const char *const facts_list_names[FACTS_LIST_COUNT];

/* Zero it first. 0 or -ENOMEM; a line that is no JSON object is counted. */
int facts_add(struct facts *f, const char *line, size_t n);
/* One object: session and policy (of Show; NULL: not known), and all of the above. */
void facts_write(const struct facts *f, const struct json_value *session, const struct json_value *policy,
		 struct json_writer *w);
void facts_done(struct facts *f);

#endif
