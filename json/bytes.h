#ifndef ISOD_JSON_BYTES_H
#define ISOD_JSON_BYTES_H
/*
 * Arguments, paths and variables are bytes, JSON strings are text. A byte that is not part of valid UTF-8 is carried as
 * the lone surrogate U+DC00 + byte (escape "\udcXX", XX = 80..ff), as Python's surrogateescape does; so every byte
 * string has exactly one JSON form and comes back as it was. In the value tree such a surrogate stands as its three
 * bytes (ED B2 80 .. ED B3 BF).
 */
#include <stddef.h>

/* Tree form -> bytes, in place or to a buffer of len + 1; returns the new length, terminated. -EINVAL for a surrogate
 * that stands for no byte, or for bytes that would have been valid UTF-8 (a second spelling), or NUL. */
long json_bytes_decode(const char *text, size_t len, char *ret);

#endif
