#ifndef ISOD_CLIENT_LAYER_APPLY_H
#define ISOD_CLIENT_LAYER_APPLY_H
/*
 * Makes the project what the layer says, as the user, entry by entry, each at once or not at all: a file is written
 * beside its place and then moved there. Nothing is followed on the way (layer_path.h). What the host has in a place is
 * held against what changes_find() saw: something else there is a conflict and stays. After an end in between the same
 * call goes on: what was applied is no change any more.
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "client/layer/layer.h"
#include "client/layer/layer_change.h"

struct apply_options {
	bool force;     /* protected kinds, links that may lead out of the project */
	bool overwrite; /* what was changed on the host since the session began */
};

struct apply_result {
	size_t applied;
	size_t left; /* marked CHANGE_LEFT; each was reported on stderr */
	bool interrupted;
};

/* Of the entries marked CHANGE_SELECTED. stop: set by a signal handler, looked at between entries. */
void layer_apply(const struct layer *l, struct changes *c, const struct apply_options *options,
		 const volatile sig_atomic_t *stop, struct apply_result *ret);

/* The only name of ours that is seen in the project while one entry is applied. */
#define LAYER_TEMPORARY_SIZE 40
void layer_apply_temporary(const struct layer *l, char ret[LAYER_TEMPORARY_SIZE]);

/* Parts of it. 0; -EBUSY: something else is in the place than what was seen; -errno. */
int layer_apply_file(const struct layer *l, const struct change *c); /* files, links */
int layer_apply_folder(const struct layer *l, const struct change *c);
int layer_apply_mode(const struct layer *l, const struct change *c);
int layer_apply_deletion(const struct layer *l, const struct change *c);
/* Of a folder that was made: what it may not have while it is filled. */
int layer_apply_folder_end(const struct layer *l, const struct change *c);

#endif
