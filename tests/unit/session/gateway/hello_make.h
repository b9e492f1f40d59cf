#ifndef ISOD_TEST_HELLO_MAKE_H
#define ISOD_TEST_HELLO_MAKE_H
/* ClientHellos for tests, right and wrong. */
#include <stddef.h>
#include <stdint.h>

struct hello_make {
	const char *name;        /* NULL: no server_name */
	size_t name_len;         /* 0: strlen(name) */
	uint8_t name_type;       /* 0: host_name */
	int list_entries;        /* 0: one */
	int list_error;          /* added to the length of the list */
	int extension_error;     /* added to the length of the server_name extension */
	int name_error;          /* added to the length of the name */
	int total_error;         /* added to the length of all extensions */
	const char *second_name; /* another server_name extension */
	size_t padding;          /* bytes of a padding extension in front */
	int ech;                 /* 1: extension 0xfe0d */
	int name_last;           /* server_name is the last extension, so the name ends the record */
	int no_extensions;
};

#define HELLO_MAX (80 << 10)

/* The handshake message without record headers. */
size_t hello_message(const struct hello_make *m, uint8_t *ret);
/* Cut into records of at most record bytes. */
size_t hello_records(const uint8_t *message, size_t len, size_t record, uint8_t *ret);
/* Both; records of 16384. */
size_t hello_simple(const char *name, uint8_t *ret);

#endif
