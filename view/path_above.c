#include "view/path_above.h"

#include <string.h>

#include "base/limits.h"
#include "view/path_pattern.h"

static bool is_denial(const struct path_rule *rule)
{
	return rule->effect == PATH_DENY_READ || rule->effect == PATH_DENY_WRITE;
}

/* The first len bytes of pattern and what comes after them. */
static const char *add_text(struct path_above *a, const char *pattern, size_t len, const char *after)
{
	char *text = a->text ? a->text + a->bytes : NULL;

	if (text) {
		memcpy(text, pattern, len);
		memcpy(text + len, after, strlen(after) + 1);
	}
	a->bytes += len + strlen(after) + 1;
	return text;
}

static size_t part_len(const char *at)
{
	return (size_t)(strchrnul(at + 1, '/') - at);
}

static bool part_is_literal(const char *at)
{
	char part[LIMIT_PATH];
	size_t len = part_len(at);

	memcpy(part, at, len);
	part[len] = '\0';
	return path_pattern_is_literal(part);
}

/* The parts behind the last "**" that are plain, but for the last one. */
static void add_above_pattern(struct path_above *a, const char *pattern)
{
	const char *from = pattern, *at = pattern, *text;

	while ((at = strstr(at, "/**/")) != NULL)
		from = at += 3;
	if (from == pattern) {
		/* Its plain beginning, however long, is one entry. */
		while (part_is_literal(from))
			from += part_len(from);
		if (from > pattern) {
			text = add_text(a, pattern, (size_t)(from - pattern), "/x");
			if (a->plain)
				a->plain[a->n_plain].pattern = text;
			a->n_plain++;
		}
	}
	for (; from[part_len(from)] == '/'; from += part_len(from)) {
		if (!part_is_literal(from))
			continue;
		text = add_text(a, pattern, (size_t)(from - pattern) + part_len(from), "");
		if (a->parts)
			a->parts[a->n_parts].pattern = text;
		a->n_parts++;
	}
}

void path_above_collect(const struct path_rule *rules, size_t n, struct path_above *a)
{
	a->n_plain = a->n_parts = a->bytes = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_denial(&rules[i]))
			continue;
		if (!path_pattern_is_literal(rules[i].pattern)) {
			add_above_pattern(a, rules[i].pattern);
			continue;
		}
		if (a->plain)
			a->plain[a->n_plain].pattern = rules[i].pattern;
		a->n_plain++;
	}
}
