#ifndef ISOD_VIEW_PATH_PATTERN_H
#define ISOD_VIEW_PATH_PATTERN_H
/*
 * Patterns of paths. Pure, no allocation, linear in pattern times path.
 *
 * A pattern is an absolute clean path (plan_path_is_clean) whose components may hold
 *   *      any run of bytes of one component, the empty one too; a leading dot is nothing special
 *   ?      one byte
 *   [a-z] [!a-z]   one byte of a set; a bracket without end stands for itself
 *   \c     the byte c itself
 *   **     as a whole component: any number of components, none too
 * A "**" at the end is taken off when a rule is expanded: a rule for a folder is one for all that is in it.
 */
#include <stdbool.h>
#include <stddef.h>

/* No wildcard: the pattern is a path (after path_pattern_unescape). */
bool path_pattern_is_literal(const char *pattern);
/* Only its last component is looked at; "**" is none. */
bool path_pattern_ends_literal(const char *pattern);

/* One component of a pattern, not "**", against one name; both with their length. */
bool path_pattern_match_name(const char *pattern, size_t pattern_len, const char *name, size_t name_len);

/* The pattern stands for exactly this path (clean, absolute). */
bool path_pattern_match(const char *pattern, const char *path);

/*
 * The rule of a pattern holds for what it matches and for all below. Returns how deep in path it takes hold: the number
 * of components of the longest prefix of path that the pattern matches; 0 = none.
 */
unsigned path_pattern_depth(const char *pattern, const char *path);

#endif
