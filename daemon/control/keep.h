#ifndef ISOD_CONTROL_KEEP_H
#define ISOD_CONTROL_KEEP_H
/*
 * What the next isod-control needs to know of a session, should this one die: JSON in a sealed memory file, which isod
 * holds and does not read (CONTROL_KEEP). The next one may be of another version, so it says which form it has.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "json/decode.h"

struct reload_texts;
struct session;

#define KEEP_VERSION 1

struct keep_port {
	int64_t host, inside;
};

struct keep_grant {
	const char *host;
	int64_t until; /* ms of CLOCK_MONOTONIC; 0: none */
	int64_t once;
	bool used;
};

struct keep_exit {
	int64_t kind, value, ended;
};

struct keep_texts {
	const char *administrator;  /* or NULL */
	struct json_objects layers; /* struct schema_policy */
};

/* Every pointer is into the document. */
struct keep_state {
	int64_t version;
	const char *id, *name, *digest;
	const char *project; /* or NULL */
	const char *cwd;     /* bytes */
	struct json_strings argv, notes, lacking, planted, runs;
	int64_t started, late_way, late_reason, late_more;
	bool terminal, detached;
	int64_t rows, columns;
	int64_t generation, unlisted, last_once;
	struct keep_texts texts, first;
	struct json_objects grants; /* struct keep_grant */
	struct json_objects ports;  /* struct keep_port */
	struct keep_exit exit;
	bool has_exit;
};

extern const struct json_schema keep_schema;

/*
 * Leaves the session with isod as it is now, and its client's connection where that waits for an answer. Without
 * memory, or where it has too much to say, the session ends with this isod-control; that is logged.
 */
void keep_send(struct session *s);
/* The same, for rules that are about to be sent: their texts, with the generation after this one. */
void keep_send_next(struct session *s, const struct reload_texts *texts);

#endif
