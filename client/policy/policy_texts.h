#ifndef ISOD_CLIENT_POLICY_TEXTS_H
#define ISOD_CLIENT_POLICY_TEXTS_H
/*
 * The policy files that belong to the user, read by the user: the daemon, which is more than the user, gets texts and
 * opens nothing on a client's word.
 */
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"
#include "client/options.h"
#include "policy/policy.h"

struct policy_texts {
	struct policy_input inputs[LIMIT_POLICY_LAYERS];
	size_t count;
	char *owned[2 * (LIMIT_POLICY_LAYERS + 1)]; /* heap memory that the inputs point to */
	size_t n_owned;
};

struct json_writer;

/* One file; -ENOENT is reported in *e like every other failure. */
int policy_texts_add_file(struct policy_texts *t, enum policy_layer_kind layer, const char *path, struct error *e);
/* A text that outlives t. */
int policy_texts_add_text(struct policy_texts *t, enum policy_layer_kind layer, const char *path, const char *text,
			  size_t len, struct error *e);
/* ~/.config/isod/policy.json if there is one, then what the user has written down for the project (policy_store.h),
 * then the files. project: its real path; NULL: none. */
int policy_texts_collect(struct policy_texts *t, const char *project, const struct option_list *files, struct error *e);
void policy_texts_done(struct policy_texts *t);

/* Where the user's policy lies: XDG_CONFIG_HOME counts only below HOME, so that a variable set by somebody else's
 * project does not replace it. Heap memory, or NULL. */
char *policy_texts_user_path(const char *home, const char *config_home);
/* HOME, or what the user database says; "/" where neither knows. */
const char *policy_texts_home(void);

/* The member "policies" of a request. */
void policy_texts_write(const struct policy_texts *t, struct json_writer *w);

#endif
