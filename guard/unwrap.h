#ifndef ISOD_GUARD_UNWRAP_H
#define ISOD_GUARD_UNWRAP_H
/*
 * Programs that run what they are given: "sudo git push", "bash -c '...'", "find -exec", "python -c". What they would
 * run is added to the script as commands of its own, again and again until nothing is left to unwrap. Pure.
 */
#include "guard/shell.h"

/*
 * 0: all of it was unwrapped; what cannot be known is there as a command whose first word has no text. Else as
 * shell_parse(): a text that was to be run could not be read, or a bound was met; what was found until then stays.
 */
int unwrap_script(struct shell_script *script);

/* The last part of a path; the whole where there is no slash. */
const char *unwrap_basename(const char *path);

#endif
