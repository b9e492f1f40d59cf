#ifndef ISOD_CLIENT_ESCAPE_H
#define ISOD_CLIENT_ESCAPE_H
/*
 * Foreign text for a terminal: every listing, banner and error goes through here, so that a file name or an argument
 * chosen by an agent cannot move the cursor, write a title or turn text around. Control characters (C0, DEL, C1) and
 * bytes that are no UTF-8 become \xNN (\n, \t, \r by name), bidirectional controls and line separators \u{NNNN}.
 */
#include <stddef.h>
#include <stdio.h>

#include "base/buffer.h"

/* Accepts plain bytes and the tree form of json/bytes.h. 0, -EMSGSIZE, -ENOMEM. */
int escape_append(struct buffer *out, const char *text, size_t len);

void escape_print(FILE *to, const char *text);

#endif
