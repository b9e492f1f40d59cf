#ifndef ISOD_VIEW_PATH_FOLD_H
#define ISOD_VIEW_PATH_FOLD_H
/*
 * Names as a file system compares them that does not look at case: two that are one there fold to the same bytes, as
 * far as names of ASCII are concerned, which those of the protections are. Pure.
 *
 * Folded are: ASCII letters; the signs that case folding makes ASCII (long s, Kelvin, sharp s, ligatures); what
 * normalisation passes over (soft hyphens, joiners, variation selectors); dots at the end of a name, which FAT drops.
 * A name of which nothing would be left, or "..", is folded in its letters alone.
 */
#include <stddef.h>

/* path: clean, absolute, shorter than LIMIT_PATH. ret: as many bytes as path, its NUL too; it is a clean path. Folding
 * a longer path folds each part for itself. */
void path_fold(const char *path, char *ret);

/* The pattern (view/path_pattern.h) that matches the folded form of what pattern matches, or more. ret: as above. */
void path_fold_pattern(const char *pattern, char *ret);

#endif
