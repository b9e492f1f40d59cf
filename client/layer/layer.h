#ifndef ISOD_CLIENT_LAYER_H
#define ISOD_CLIENT_LAYER_H
/*
 * The layer that a session left over its project: found by asking isod, read and applied as the user. Everything in it
 * was written by the session's program: names, links, types and numbers are its choice.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "client/command.h"
#include "json/value.h"

struct layer {
	char id[ISOD_ID_LEN + 1];
	char *project;      /* absolute */
	uid_t uid;          /* whose it is */
	int64_t started_ns; /* a file of the project that was changed since has a ctime of this or later */
	bool running;
	int upper;      /* the layer's top folder; -1 */
	int project_fd; /* the project's; -1 */
	/* What an apply that was killed may have left in a folder of the project: the walk takes it away; NULL. */
	const char *leftover;
};

#define LAYER_INIT                                                                                                     \
	{                                                                                                              \
		.upper = -1, .project_fd = -1                                                                          \
	}

void layer_done(struct layer *l);
#define _cleanup_layer_ __attribute__((cleanup(layer_done)))

struct call;

/* Asks isod for the layers: array of KeptLayer in *call, which holds the memory. NULL with *e. */
const struct json_value *layer_list(const struct client *client, struct call *call, struct error *e);

/*
 * Fills everything but the descriptors. session: id or name; NULL: the newest layer over the working directory or a
 * folder above it. 0, or -errno with *e.
 */
int layer_find(const struct client *client, const char *session, struct layer *ret, struct error *e);
/* The operands "[SESSION] [PATH]...": the first is a session where one is called so. *ret_paths: the first PATH. */
int layer_find_operands(const struct client *client, char **operands, struct layer *ret, char ***ret_paths,
			struct error *e);
/* Opens both folders. ended: refused where the session still runs. */
int layer_open(const struct client *client, struct layer *l, bool ended, struct error *e);
/* Keeps other isoctls from applying it until layer_done(): their temporary files have one name. */
int layer_lock(const struct layer *l, struct error *e);
/* Removes it at isod. */
int layer_discard(const struct client *client, const struct layer *l, struct error *e);

#endif
