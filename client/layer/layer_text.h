#ifndef ISOD_CLIENT_LAYER_TEXT_H
#define ISOD_CLIENT_LAYER_TEXT_H
/* The texts of changed files as a unified diff on stdout. Where stdout is a terminal nothing in them acts on it. */
#include <stdbool.h>

struct layer;
struct change;

struct layer_text {
	const struct layer *layer;
	char *program; /* the program diff, absolute; NULL: there is none. Looked for once */
	bool looked;
	bool terminal;
	int failed; /* errno of stdout: nothing more is written */
};

void layer_text_init(struct layer_text *t, const struct layer *layer);
void layer_text_done(struct layer_text *t);

/* Nothing for kinds without text: folders, links (their targets are listed), deletions, special files. */
void layer_text_print(struct layer_text *t, const struct change *c);

#endif
