#ifndef ISOD_VIEW_ETC_HIDDEN_H
#define ISOD_VIEW_ETC_HIDDEN_H
/*
 * Names below /etc that hold secrets by their purpose, whatever their modes are, and whether they are there yet or not:
 * a package that is installed during a session makes them while it runs.
 */
#include <stdbool.h>
#include <stddef.h>

/* Paths below /etc, sorted by nothing; folders stand for all that is in them. */
extern const char *const etc_hidden_names[];
extern const size_t n_etc_hidden_names;

/* path (below /etc) is one of the names, or matches one of the patterns of names that cannot all be told. */
bool etc_hidden_is(const char *path);
/* The same for an absolute path, or for a folder on the way to it. */
bool etc_hidden_holds(const char *path);

#endif
