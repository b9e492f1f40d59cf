#ifndef ISOD_CLIENT_LISTING_H
#define ISOD_CLIENT_LISTING_H
/* Values of isod's answers for people (escaped) and for programs (one JSON text a line), on stdout. */
#include <stddef.h>
#include <stdio.h>

#include "base/buffer.h"
#include "json/value.h"

/* A scalar, or a compact JSON text; strings without quotes. NULL and null: "-". */
int listing_append(struct buffer *out, const struct json_value *v);
/* One argument, quoted for a shell where it needs that. */
int listing_append_argument(struct buffer *out, const char *text);
/* An array of strings as a command line: arguments that need it are quoted for a shell. */
int listing_append_argv(struct buffer *out, const struct json_value *argv);

/* A line for each published port of a session, after the text before. */
int listing_append_ports(struct buffer *out, const char *before, const struct json_value *session);

/* A line of a policy: "name: value  (where it comes from)"; v has the members value and from. */
int listing_append_origin(struct buffer *out, const char *name, const struct json_value *v);

/* "isoctl: ..." on stderr where the answer says that something was left out. what: "older sessions", say. */
void listing_report_more(const struct json_value *answer, const char *what);
/* v as JSON and a line feed. 0, or 1 where stdout does not take it (reported). */
int listing_print_json(const struct json_value *v);
/* Writes it to stdout. 0, or 1. */
int listing_print(const struct buffer *text);

#endif
