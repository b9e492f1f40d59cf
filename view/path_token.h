#ifndef ISOD_VIEW_PATH_TOKEN_H
#define ISOD_VIEW_PATH_TOKEN_H
/*
 * Does a file hold a secret? For rules with PATH_RULE_IF_TOKEN: .npmrc, .yarnrc.yml, pip.conf, *.key, *.tfstate ...
 * Pure, no allocation, linear in len; the bytes may be anything.
 */
#include <stdbool.h>
#include <stddef.h>

/* So much from the beginning of a file is looked at. A longer one that shows nothing there counts as one with a secret:
 * configuration is small. */
#define PATH_TOKEN_HEAD 65536

/*
 * path: by which a rule holds for the file; head: the first len bytes, at most PATH_TOKEN_HEAD; whole: the file has no
 * more. True: a private key, or an npm, yarn, pip or URL credential that is written out (not "${NAME}"), or the file is
 * longer than what can be looked at; of a *.pem, whatever is not public for certain (view/path_pem.h).
 */
bool path_token_found(const char *path, const char *head, size_t len, bool whole);

#endif
