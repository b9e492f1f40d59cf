#ifndef ISOD_SESSION_CAST_H
#define ISOD_SESSION_CAST_H
/*
 * Lines of an asciicast (version 2): a header, then one JSON array an event, with seconds since the recording began.
 * Pure. What a terminal carries is bytes; an asciicast is UTF-8: a character that is cut in two by the end of an event
 * stands whole in the next one, what is none becomes U+FFFD, one for each longest beginning of a character (as in the
 * Encoding Standard), and never makes JSON that is none.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* The beginning of a character whose rest has not come; all zero at first. One a direction. */
struct cast_text {
	uint8_t held[4];
	uint8_t n;
};

/* At most so many bytes of a line for n bytes of text: each as an escape of six, and what surrounds them. */
#define CAST_LINE_MAX(n) (6 * ((size_t)(n) + 4) + 64)
#define CAST_HEADER_MAX 256

/* 0, -EMSGSIZE, -ENOMEM; the buffer is then as it was. unix_time: seconds; title: plain ASCII without quotes. */
int cast_header(struct buffer *out, uint16_t rows, uint16_t columns, int64_t unix_time, const char *title);
/* kind: 'o' or 'i'. Appends nothing where all of it is held back. us: microseconds since the beginning. */
int cast_append(struct buffer *out, struct cast_text *text, uint64_t us, char kind, const void *data, size_t n);
/* What is held back, as one U+FFFD: the stream is at its end. */
int cast_append_rest(struct buffer *out, struct cast_text *text, uint64_t us, char kind);
/* A marker's label; bytes that are no UTF-8 as above. */
int cast_marker(struct buffer *out, uint64_t us, const char *label);
int cast_resize(struct buffer *out, uint64_t us, uint16_t rows, uint16_t columns);

#endif
