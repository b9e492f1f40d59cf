#ifndef ISOD_CLIENT_LAYER_LISTING_H
#define ISOD_CLIENT_LAYER_LISTING_H
/* Changes for people (names escaped) and for programs. */
#include <stddef.h>

#include "base/buffer.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"

/* What is told first is what is easily missed: deletions, modes, what runs on the host later; then everything else. */
enum listing_group { LISTING_DELETED, LISTING_MODE, LISTING_PROTECTED, LISTING_OTHER, LISTING_GROUPS };

enum listing_group layer_listing_group(const struct change *c);
/* The source of a rename is told with its target. */
bool layer_listing_is_told(const struct change *c);

/* One line, with its line feed. */
int layer_listing_append(struct buffer *out, const struct layer *l, const struct change *c);
/* "3 deleted, 1 mode changed, ..." */
int layer_listing_append_totals(struct buffer *out, const struct changes *c);
/* One JSON object of all and a line feed. */
int layer_listing_append_json(struct buffer *out, const struct layer *l, const struct changes *c);

#endif
