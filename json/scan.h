#ifndef ISOD_JSON_SCAN_H
#define ISOD_JSON_SCAN_H
/*
 * What yajl lets pass, looked for before it sees the text. yajl 2.1 takes overlong UTF-8, raw surrogates and values
 * past U+10FFFF; it reads "\ud800x" as "?" and loses the x, joins "\ud800" with whatever escape follows, and gives
 * "\u0000" as a NUL. Its comments may stay open at the end of the text.
 */
#include <stddef.h>

/* Each returns NULL, or what is wrong as the rest of a sentence, with the place in *at. */

/* Strict UTF-8 without NUL. */
const char *json_scan_utf8(const char *text, size_t len, size_t *at);
/* Overwrites comments with spaces; line ends stay. */
const char *json_scan_comments(char *text, size_t len, size_t *at);
/* \u escapes: no NUL, high surrogates in pairs only, lone low ones only where they stand for a byte (json/bytes.h). */
const char *json_scan_escapes(const char *text, size_t len, size_t *at);

#endif
