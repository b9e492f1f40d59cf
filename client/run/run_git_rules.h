#ifndef ISOD_CLIENT_RUN_GIT_RULES_H
#define ISOD_CLIENT_RUN_GIT_RULES_H
/* What the view of a session gets for git's sake, collected and then written as a policy text. */
#include "base/buffer.h"

/* Bytes of paths and names of one kind: the whole text must leave room for the user's own in LIMIT_POLICY_CALL. */
#define RUN_GIT_BYTES (128U << 10)

enum run_git_list { RUN_GIT_READ, RUN_GIT_WRITE, RUN_GIT_OVERLAY, RUN_GIT_KEEP, RUN_GIT_LISTS };

struct run_git_rules {
	struct buffer paths[RUN_GIT_LISTS]; /* of enum run_git_list; each path ends in NUL */
	struct buffer settings;             /* NAME, NUL, VALUE, NUL: for git's own variables */
	unsigned n_settings;
	struct buffer notes; /* sentences for the banner, each ends in NUL */
	int error;           /* the first that happened: 0, -ENOMEM, -EMSGSIZE */
};

void run_git_rules_init(struct run_git_rules *r);
void run_git_rules_done(struct run_git_rules *r);

/* A clean absolute path, once. */
void run_git_rules_add(struct run_git_rules *r, enum run_git_list list, const char *path);
/* name below folder */
void run_git_rules_add_below(struct run_git_rules *r, enum run_git_list list, const char *folder, const char *name);
void run_git_rules_set(struct run_git_rules *r, const char *name, const char *value);
void run_git_rules_note(struct run_git_rules *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The policy text. 1, 0 (there is nothing to say), -errno. */
int run_git_rules_write(const struct run_git_rules *r, struct buffer *out);

#endif
