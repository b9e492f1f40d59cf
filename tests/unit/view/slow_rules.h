#ifndef ISOD_TEST_SLOW_RULES_H
#define ISOD_TEST_SLOW_RULES_H
/* The evaluator of view/path_rules.h again, as its text reads: no index, no bounds, recursion. */
#include "view/path_rules.h"

bool slow_match(const char *pattern, const char *path);
void slow_decide(const struct path_rule *rules, size_t n, const char *path, enum path_kind kind,
		 struct path_verdict *ret);
/* By trying: some path below folder of the given names, at most two deeper, has another deepest rule depth. */
bool slow_matches_below(const char *pattern, const char *folder, const char *const *names, size_t n_names);

#endif
