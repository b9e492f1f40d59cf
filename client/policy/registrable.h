#ifndef ISOD_CLIENT_REGISTRABLE_H
#define ISOD_CLIENT_REGISTRABLE_H
/* Where in a host name the part that one owner has begins, by the public suffix list. */
#include <stdbool.h>

/* The part of the canonical name that somebody has registered ("example.co.uk" of "a.b.example.co.uk"), or NULL: it is
 * a public suffix itself, or this build knows no list. */
const char *registrable_part(const char *name);
/* Does this build know the list? */
bool registrable_is_known(void);

#endif
