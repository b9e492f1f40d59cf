#ifndef ISOD_CONTROL_SESSION_JSON_H
#define ISOD_CONTROL_SESSION_JSON_H
/* The type Session of the interface. */
#include <stddef.h>

struct json_writer;
struct session;

void session_write(const struct session *s, struct json_writer *w);
/* Upper bound of the bytes that it takes. */
size_t session_write_size(const struct session *s);

#endif
