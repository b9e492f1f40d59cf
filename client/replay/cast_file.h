#ifndef ISOD_CLIENT_CAST_FILE_H
#define ISOD_CLIENT_CAST_FILE_H
/* A recording (asciicast v2) read line by line; a line has CAST_FILE_LINE_MAX bytes at most. */
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "json/value.h"

#define CAST_FILE_LINE_MAX (1U << 20)

struct cast_event {
	double time; /* seconds, never less than that of the event before */
	char kind;
	const char *data; /* terminated UTF-8, until the next call */
	size_t len;
};

struct cast_file {
	FILE *file;
	char *line; /* CAST_FILE_LINE_MAX + 2 bytes */
	uint64_t number;
	unsigned rows, columns;
	double last;
	struct json_document document;
};

#define CAST_FILE_INIT                                                                                                 \
	{                                                                                                              \
		.document = JSON_DOCUMENT_INIT                                                                         \
	}

/* Reads the header. 0 or -errno with *e. */
int cast_file_open(const char *path, struct cast_file *ret, struct error *e);
void cast_file_done(struct cast_file *f);
/* 1, 0 at the end (a last line that was cut off is one, too), -EBADMSG with *e. Kinds that nobody knows come as well.
 */
int cast_file_next(struct cast_file *f, struct cast_event *ret, struct error *e);
/* Back to the first event. */
int cast_file_rewind(struct cast_file *f, struct error *e);

#endif
