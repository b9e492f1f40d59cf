#ifndef ISOD_PROTO_STREAM_H
#define ISOD_PROTO_STREAM_H
/*
 * Raw frames on an upgraded connection, between isoctl (or any client) and isod-session. Header of 8 bytes: u8 type,
 * three zero bytes, u32 payload length, little-endian; payload of at most LIMIT_FRAME bytes. Links base only.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum stream_type {
	/* client -> session */
	STREAM_STDIN = 1, /* bytes; an empty one is end of file (a pty gets VEOF at line start) */
	STREAM_RESIZE,    /* u16 rows, u16 columns */
	STREAM_SIGNAL,    /* u32 signal */
	STREAM_CONTINUE,  /* empty: resume a stopped program */
	STREAM_DETACH,    /* empty: the client leaves, the session goes on; DETACHED answers */
	/* session -> client */
	STREAM_STDOUT = 16, /* bytes */
	STREAM_STDERR,      /* bytes; never with a pty */
	STREAM_STOPPED,     /* u32 signal: the program was stopped */
	STREAM_EXIT,        /* u32 enum exit_kind (base/exit_kind.h), u32 value: last frame, after all output */
	STREAM_LATE, /* u32 enum stream_late, u32 count, path: something for the list at the end of the run; before EXIT
		      */
	STREAM_ROLE, /* u32 enum stream_role, u32 enum stream_role_reason: what the client may do from now on */
	STREAM_DETACHED, /* u32 enum stream_detached: last frame, the session goes on */
	STREAM_SIZE, /* u16 rows, u16 columns of the session's terminal: to watchers, at first and when it changes */
};

enum stream_role {
	STREAM_DRIVER = 1, /* input and size */
	STREAM_WATCHER,    /* output only */
};

enum stream_role_reason {
	STREAM_ROLE_ASKED = 0,
	STREAM_ROLE_TAKEN, /* another client took the driver's place */
};

enum stream_detached {
	STREAM_DETACHED_ASKED = 1, /* by DETACH */
	STREAM_DETACHED_BUSY,      /* another client drives, and this one did not ask to take its place */
	STREAM_DETACHED_FULL,      /* there are too many clients */
	STREAM_DETACHED_SLOW,      /* it did not read */
};

enum stream_late {
	STREAM_LATE_PLANTED = 1, /* path: made inside; protected, runs or steers something on the host later */
	STREAM_LATE_RUNS,        /* path: made inside; not protected, usually run on the host */
	STREAM_LATE_MORE,        /* count: others that are not named */
	STREAM_LATE_LACKING,     /* path: a sentence about what the session does not enforce */
};

#define STREAM_HEADER 8

struct stream_frame {
	uint8_t type;
	const uint8_t *payload; /* slice of the input */
	uint32_t len;
};

/*
 * One frame from the front of data. Returns the bytes consumed, 0 = more needed, -EBADMSG. Checks the fixed sizes of
 * the types with numbers; does not allocate.
 */
long stream_parse(const uint8_t *data, size_t len, struct stream_frame *ret);
void stream_header(uint8_t type, uint32_t len, uint8_t ret[STREAM_HEADER]);
int stream_append(struct buffer *b, uint8_t type, const void *payload, size_t len);
int stream_append_u16_u16(struct buffer *b, uint8_t type, uint16_t a, uint16_t c);
int stream_append_u32(struct buffer *b, uint8_t type, uint32_t a);
int stream_append_late(struct buffer *b, uint32_t late, uint32_t count, const char *path, size_t len);
int stream_append_u32_u32(struct buffer *b, uint8_t type, uint32_t a, uint32_t c);
uint16_t stream_u16(const uint8_t *at);
uint32_t stream_u32(const uint8_t *at);

#endif
