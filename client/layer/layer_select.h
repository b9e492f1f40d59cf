#ifndef ISOD_CLIENT_LAYER_SELECT_H
#define ISOD_CLIENT_LAYER_SELECT_H
/* Which changes a command is about. */
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"

/*
 * Marks CHANGE_SELECTED what lies at or below one of the paths as the user typed them (none: all), with what it cannot
 * be without: the new folders above it, the other end of a rename, what has to go from its place. 0; -ENOENT with *e
 * where a path has no change.
 */
int layer_select(const struct layer *l, struct changes *c, char *const *paths, struct error *e);

#endif
