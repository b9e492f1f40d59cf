#ifndef ISOD_VIEW_PATH_PATTERN_H
#define ISOD_VIEW_PATH_PATTERN_H
/*
 * Patterns of paths. Pure, no allocation; one match takes at most pattern times path.
 *
 * A pattern is an absolute clean path (plan_path_is_clean) whose components may hold
 *   *      any run of bytes of one component, the empty one too; a leading dot is nothing special
 *   ?      one byte
 *   [a-z] [!a-z]   one byte of a set; a bracket without end stands for itself
 *   \c     the byte c itself
 *   **     as a whole component: any number of components, none too
 * A "**" at the end is taken off when a rule is expanded: a rule for a folder is one for all that is in it.
 *
 * A path becomes a pattern that matches it alone by path_pattern_escape(): "*", "?", "[" and "\" of its names get a
 * backslash. All rules, those of plain paths too, are kept in this form; a mount needs path_pattern_unescape().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No wildcard but behind a backslash: the pattern matches one path. */
bool path_pattern_is_literal(const char *pattern);
/* That path. 0; -EINVAL where the pattern is not literal, -ENAMETOOLONG past size (with the NUL). */
int path_pattern_unescape(const char *pattern, char *ret, size_t size);
/* The pattern that matches path alone. 0 or -ENAMETOOLONG. */
int path_pattern_escape(const char *path, char *ret, size_t size);
/* Only its last component is looked at; "**" is none. */
bool path_pattern_ends_literal(const char *pattern);

/* How many components there are from the first wildcard on: at most LIMIT_PATTERN_PARTS in a rule. */
unsigned path_pattern_parts(const char *pattern);

/* One component of a pattern, not "**", against one name; both with their length. */
bool path_pattern_match_name(const char *pattern, size_t pattern_len, const char *name, size_t name_len);

/* The pattern stands for exactly this path (clean, absolute). */
bool path_pattern_match(const char *pattern, const char *path);

/* The same for the first len bytes of path, which end where a component does. */
bool path_pattern_match_part(const char *pattern, const char *path, size_t len);

/* Some path below folder (clean, absolute) can be matched whose rule does not hold for folder already. */
bool path_pattern_concerns_below(const char *pattern, const char *folder);

/*
 * The rule of a pattern holds for what it matches and for all below. Returns how deep in path it takes hold: the number
 * of components of the longest prefix of path that the pattern matches; 0 = none.
 */
unsigned path_pattern_depth(const char *pattern, const char *path);

/* The same, for those who must not work without a bound: they add to *work how many bytes were compared. A depth takes
 * the square of the path's parts. */
bool path_pattern_match_name_counted(const char *pattern, size_t pattern_len, const char *name, size_t name_len,
				     uint64_t *work);
bool path_pattern_match_part_counted(const char *pattern, const char *path, size_t len, uint64_t *work);
unsigned path_pattern_depth_counted(const char *pattern, const char *path, uint64_t *work);

#endif
