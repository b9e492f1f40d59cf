#ifndef ISOD_CLIENT_HTML_H
#define ISOD_CLIENT_HTML_H
/* Foreign text in a page: controls, what turns text around and bytes that are no UTF-8 as in client/escape.h, and then
 * & < > " ' as entities, so that it is text in an element and in a quoted attribute alike. */
#include "base/buffer.h"

/* 0, -EMSGSIZE, -ENOMEM. */
int html_append(struct buffer *out, const char *text, size_t n);
int html_append_string(struct buffer *out, const char *text);

#endif
