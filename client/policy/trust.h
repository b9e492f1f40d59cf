#ifndef ISOD_CLIENT_TRUST_H
#define ISOD_CLIENT_TRUST_H
/*
 * What the user has confirmed once (isoctl trust). Repositories: their git folders may be granted to sessions of
 * worktrees, submodules and folders of theirs. Policy files: they may lend what else only the user's own policy may
 * (policy/policy_lend.c), as long as they have the very bytes. A file of the user's, mode 0600, replaced as a whole.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "git/git_folder.h"

#define TRUST_REPOSITORIES_MAX 4096
#define TRUST_POLICIES_MAX 1024
#define TRUST_FILE_MAX (4U << 20)
#define TRUST_DIGEST_SIZE 65 /* SHA-256 in hex, with its NUL */

struct trust_repository {
	char *path; /* of the git folder */
	struct git_identity identity;
	char *work_tree; /* the only one that it holds for, which nothing else ties to the repository; NULL = all that
			  * it points back to */
};

struct trust_policy {
	char digest[TRUST_DIGEST_SIZE]; /* of its bytes, which alone decide */
	char *path;                     /* where it lay, for people */
};

struct trust {
	struct trust_repository *items;
	size_t count;
	struct trust_policy *policies;
	size_t n_policies;
};

#define TRUST_INIT                                                                                                     \
	{                                                                                                              \
		.items = NULL                                                                                          \
	}

/* Where the file lies: beside the user's policy. Heap memory; NULL: no home, no memory. */
char *trust_path(void);

/* No file: nothing is trusted. -EPERM where others can write to it; -EBADMSG; with *e filled. */
int trust_read(const char *path, struct trust *ret, struct error *e);
void trust_done(struct trust *t);
#define _cleanup_trust_ __attribute__((cleanup(trust_done)))

/* The same folder at the same path. work_tree NULL: an entry without one; else one that names this very work tree. */
bool trust_has(const struct trust *t, const char *path, const struct git_identity *identity, const char *work_tree);

/* Reads the file, changes it and writes it again, with other isoctls kept out meanwhile. work_tree: NULL or as above.
 * trust_remove: 1, or 0 where path was not in it. */
int trust_add(const char *file, const char *path, const struct git_identity *identity, const char *work_tree,
	      struct error *e);
int trust_remove(const char *file, const char *path, struct error *e);

/* Of the bytes of a policy file. 0 or -EIO. */
int trust_digest(const char *text, size_t len, char ret[TRUST_DIGEST_SIZE]);
bool trust_has_policy(const struct trust *t, const char *digest);
/* Puts digest in with path; or takes out whatever has that digest or path: 1, or 0 where nothing had. */
int trust_add_policy(const char *file, const char *digest, const char *path, struct error *e);
int trust_remove_policy(const char *file, const char *digest, const char *path, struct error *e);

#endif
