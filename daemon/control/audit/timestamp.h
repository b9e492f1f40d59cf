#ifndef ISOD_CONTROL_TIMESTAMP_H
#define ISOD_CONTROL_TIMESTAMP_H
/* Wall-clock times as they stand in replies and the audit log: RFC 3339, UTC, milliseconds. */
#include <stdint.h>

#define TIMESTAMP_SIZE sizeof("2026-01-01T00:00:00.000Z")

/* Milliseconds since 1970. */
int64_t timestamp_now(void);
const char *timestamp_format(int64_t ms, char ret[TIMESTAMP_SIZE]);
/* The same form back: 0 or -EINVAL. */
int timestamp_parse(const char *text, int64_t *ret);

#endif
