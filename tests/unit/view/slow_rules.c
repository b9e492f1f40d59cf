#include "tests/unit/view/slow_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/path_pattern.h"

/* ']' is not the end where it comes first. */
static const char *set_end(const char *p)
{
	p += p[1] == '!' ? 2 : 1;
	if (*p == '\0' || *p == '/')
		return NULL;
	for (p++; *p != ']'; p++)
		if (*p == '\0' || *p == '/')
			return NULL;
	return p;
}

static bool in_set(const char *p, const char *end, unsigned char c)
{
	bool negated = p[1] == '!', found = false;

	for (p += negated ? 2 : 1; p < end; p++) {
		unsigned char low = (unsigned char)p[0], high = low;

		if (p + 2 < end && p[1] == '-') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found = found || (low <= c && c <= high);
	}
	return found != negated;
}

static bool ends(char c)
{
	return c == '\0' || c == '/';
}

static bool match_parts(const char *p, const char *s);

/* One component of both, from somewhere in it on; then the rest. */
static bool match_name(const char *p, const char *s)
{
	if (ends(*p))
		return ends(*s) && (*p == '\0'  ? *s == '\0'
				    : *s == '/' ? match_parts(p + 1, s + 1)
						: match_parts(p + 1, s));
	if (*p == '*')
		return match_name(p + 1, s) || (!ends(*s) && match_name(p, s + 1));
	if (ends(*s))
		return false;
	if (*p == '?')
		return match_name(p + 1, s + 1);
	if (*p == '[' && set_end(p))
		return in_set(p, set_end(p), (unsigned char)*s) && match_name(set_end(p) + 1, s + 1);
	if (*p == '\\' && !ends(p[1]))
		p++;
	return *p == *s && match_name(p + 1, s + 1);
}

/* Both at the beginning of a component, or at the end of the text. */
static bool match_parts(const char *p, const char *s)
{
	if (p[0] == '*' && p[1] == '*' && ends(p[2])) {
		const char *rest = p[2] == '/' ? p + 3 : p + 2;

		if (match_parts(rest, s))
			return true;
		if (*s == '\0')
			return false;
		while (!ends(*s))
			s++;
		return match_parts(p, *s == '/' ? s + 1 : s);
	}
	if (*p == '\0' || *s == '\0')
		return *p == *s;
	return match_name(p, s);
}

bool slow_match(const char *pattern, const char *path)
{
	return match_parts(pattern + 1, path + 1);
}

static unsigned count(const char *path)
{
	unsigned n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* 0: the rule does not hold for path. */
static unsigned depth_of(const struct path_rule *rule, const char *path, enum path_kind kind)
{
	char part[4096];

	if (rule->flags & PATH_RULE_IF_TOKEN && kind == PATH_FILE_WITHOUT_TOKEN)
		return 0;
	if (rule->flags & PATH_RULE_FILES_ONLY)
		return kind != PATH_FOLDER && slow_match(rule->pattern, path) ? count(path) : 0;
	snprintf(part, sizeof(part), "%s", path);
	while (part[0]) {
		if (slow_match(rule->pattern, part))
			return count(part);
		*strrchr(part, '/') = '\0';
	}
	return 0;
}

static bool is_allow(const struct path_rule *rule)
{
	return rule->effect == PATH_ALLOW_READ || rule->effect == PATH_ALLOW_WRITE || rule->effect == PATH_OVERLAY;
}

static bool is_plain(const char *text)
{
	for (; *text; text++) {
		if (strchr("*?[", *text))
			return false;
		text += *text == '\\' && text[1] != '\0';
	}
	return true;
}

/* At one depth the greater number wins. 0: says nothing. */
static int strength(const struct path_rule *rule, bool write)
{
	bool own = !(rule->flags & PATH_RULE_BUILT_IN);
	bool names_it = own && is_plain(strrchr(rule->pattern, '/'));

	if (rule->effect == PATH_EXEMPT || (rule->effect == PATH_DENY_WRITE && !write))
		return 0;
	if (!is_allow(rule))
		return own ? 6 : 3;
	return (rule->effect == PATH_ALLOW_READ ? 1 : 2) + (names_it ? 3 : 0);
}

static uint32_t strongest(const struct path_rule *rules, size_t n, const char *path, enum path_kind kind, bool write)
{
	unsigned best_depth = 0, exempt = 0;
	uint32_t best = PATH_NO_RULE;
	bool granted = false;
	int best_strength = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned depth = depth_of(&rules[i], path, kind);

		granted = granted || (depth && is_allow(&rules[i]));
		if (rules[i].effect == PATH_EXEMPT && depth > exempt)
			exempt = depth;
	}
	for (size_t i = 0; i < n; i++) {
		unsigned depth = depth_of(&rules[i], path, kind);
		bool protects = rules[i].flags & PATH_RULE_BUILT_IN && !is_allow(&rules[i]);
		int own = strength(&rules[i], write);

		if (depth == 0 || own == 0 || (protects && (!granted || depth <= exempt)))
			continue;
		if (depth > best_depth || (depth == best_depth && own > best_strength)) {
			best = (uint32_t)i;
			best_depth = depth;
			best_strength = own;
		}
	}
	return best;
}

/* Which leading parts of the pattern, from behind its last "**" on, are plain in their last part and stand for path. */
static bool is_kept_by(const struct path_rule *rule, const char *path)
{
	size_t from = 0, len = strlen(rule->pattern);
	char part[4096];

	if (rule->effect != PATH_DENY_READ && rule->effect != PATH_DENY_WRITE)
		return false;
	for (size_t i = 0; i + 4 <= len; i++)
		if (strncmp(rule->pattern + i, "/**/", 4) == 0)
			from = i + 3;
	for (size_t i = from + 1; i < len; i++) {
		if (rule->pattern[i] != '/')
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, rule->pattern);
		if (is_plain(strrchr(part, '/')) && slow_match(part, path))
			return true;
	}
	return false;
}

void slow_decide(const struct path_rule *rules, size_t n, const char *path, enum path_kind kind,
		 struct path_verdict *ret)
{
	*ret = (struct path_verdict){ .read_rule = strongest(rules, n, path, kind, false),
				      .write_rule = strongest(rules, n, path, kind, true) };
	if (ret->read_rule == PATH_NO_RULE)
		ret->access = PATH_ABSENT;
	else if (rules[ret->read_rule].effect == PATH_DENY_READ)
		ret->access = PATH_DENIED;
	else if (rules[ret->write_rule].effect == PATH_ALLOW_WRITE)
		ret->access = PATH_WRITABLE;
	else
		ret->access = rules[ret->write_rule].effect == PATH_OVERLAY ? PATH_OVERLAID : PATH_READABLE;
	for (size_t i = 0; i < n; i++)
		ret->keep = ret->keep || is_kept_by(&rules[i], path);
}

static bool matches_at(const char *pattern, const char *folder, const char *const *names, size_t n_names,
		       unsigned deeper)
{
	for (size_t i = 0; i < n_names; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") == 0 ? "" : folder, names[i]);
		if (slow_match(pattern, path) || (deeper > 1 && matches_at(pattern, path, names, n_names, deeper - 1)))
			return true;
	}
	return false;
}

bool slow_matches_below(const char *pattern, const char *folder, const char *const *names, size_t n_names)
{
	return matches_at(pattern, folder, names, n_names, 2);
}
