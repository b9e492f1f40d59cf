/* Lines of "EFFECT FLAGS PATTERN" (a byte each, then the text) and, last, a path. A rule's text is also expanded as one
 * of a policy. What compiles decides every leading part of the path without a crash, and says the same as the pattern
 * alone. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "policy/policy.h"
#include "view/path_pattern.h"
#include "view/path_rules.h"
#include "view/path_token.h"

#define RULES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_path(const char *path)
{
	const struct path_rule rule = { .effect = PATH_ALLOW_READ, .pattern = path };
	struct path_rules *r = NULL;
	bool good = path_pattern_is_literal(path) && !strchr(path, '\\') && path_rules_new(&rule, 1, &r) == 0;

	path_rules_free(r);
	return good;
}

/* What an expanded rule is: clean, with the same meaning after an escape and back where it is plain. */
static void expand(const char *text)
{
	char pattern[LIMIT_PATH], path[LIMIT_PATH], again[LIMIT_PATH];
	struct path_rule rule = { .effect = PATH_ALLOW_READ, .pattern = pattern };
	struct path_rules *r = NULL;

	if (policy_path_expand(text, "/h*me", "/p[r]", pattern, sizeof(pattern), NULL) < 0)
		return;
	if (path_rules_new(&rule, 1, &r) < 0)
		abort();
	path_rules_free(r);
	if (path_pattern_unescape(pattern, path, sizeof(path)) == 0 &&
	    (path_pattern_escape(path, again, sizeof(again)) < 0 || strcmp(again, pattern) != 0 ||
	     !path_pattern_match(pattern, path)))
		abort();
}

static void decide(const struct path_rule *rules, size_t n, const char *path)
{
	struct path_rules *r = NULL;
	struct path_verdict v;
	bool matched = false;

	if (!is_path(path) || path_rules_new(rules, n, &r) < 0)
		return;
	for (int kind = PATH_ANY; kind <= PATH_FILE_WITHOUT_TOKEN; kind++) {
		path_rules_decide(r, path, (enum path_kind)kind, &v);
		if (v.read_rule != PATH_NO_RULE &&
		    (v.read_rule >= n || path_pattern_depth(rules[v.read_rule].pattern, path) == 0))
			abort();
	}
	for (size_t i = 0; i < n; i++)
		matched |= path_pattern_depth(rules[i].pattern, path) > 0;
	if (!matched && v.access != PATH_ABSENT)
		abort();
	path_rules_concern_below(r, path);
	path_rules_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = malloc(size + 1);
	struct path_rule rules[RULES_MAX];
	size_t n = 0;
	char *at = text, *end;

	path_token_found("/x", (const char *)data, size, true);
	path_token_found("/x.pem", (const char *)data, size, true);
	if (!text)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	while ((end = strchr(at, '\n')) != NULL && n < RULES_MAX) {
		*end = '\0';
		if (end - at > 2) {
			rules[n++] = (struct path_rule){ .effect = (unsigned char)at[0] % PATH_EFFECT_END,
							 .flags = (unsigned char)at[1] & PATH_RULE_FLAGS_ALL,
							 .pattern = at + 2 };
			expand(at + 2);
		}
		at = end + 1;
	}
	decide(rules, n, at);
	return 0;
}
