#include "client/policy/policy_edit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy.h"

static const char *const way[] = { "sandbox", "network", "allowedDomains" };

/* The text has been read as JSON with comments before: what follows only has to find places in it. Each function stops
 * at the end all the same. */
struct scan {
	const char *text;
	size_t len;
};

static size_t skip_blanks(const struct scan *s, size_t at)
{
	while (at < s->len) {
		const char *end;

		if (strchr(" \t\r\n", s->text[at]) && s->text[at]) {
			at++;
		} else if (at + 1 < s->len && s->text[at] == '/' && s->text[at + 1] == '/') {
			end = memchr(s->text + at, '\n', s->len - at);
			at = end ? (size_t)(end - s->text) + 1 : s->len;
		} else if (at + 1 < s->len && s->text[at] == '/' && s->text[at + 1] == '*') {
			end = memmem(s->text + at + 2, s->len - at - 2, "*/", 2);
			at = end ? (size_t)(end - s->text) + 2 : s->len;
		} else {
			break;
		}
	}
	return at;
}

static size_t skip_string(const struct scan *s, size_t at)
{
	for (at++; at < s->len && s->text[at] != '"'; at++)
		at += s->text[at] == '\\';
	return at < s->len ? at + 1 : s->len;
}

static size_t skip_value(const struct scan *s, size_t at)
{
	size_t depth = 0;

	do {
		size_t before = at;

		if (at < s->len && s->text[at] == '"') {
			at = skip_string(s, at);
		} else if (at < s->len && strchr("{[", s->text[at])) {
			depth++;
			at++;
		} else if (at < s->len && strchr("}]", s->text[at])) {
			depth--;
			at++;
		} else if (depth > 0) {
			at++;
		} else {
			while (at < s->len && !strchr(",}] \t\r\n/", s->text[at]))
				at++;
		}
		if (depth > 0)
			at = skip_blanks(s, at);
		if (at == before)
			break;
	} while (depth > 0 && at < s->len);
	return at;
}

/* Where the value of the object's member begins; false: it has none of that name. open: its '{'. */
static bool find_member(const struct scan *s, size_t open, const char *name, size_t *ret)
{
	size_t at = skip_blanks(s, open + 1), n = strlen(name);

	while (at < s->len && s->text[at] == '"') {
		size_t end = skip_string(s, at);
		bool found = end - at == n + 2 && memcmp(s->text + at + 1, name, n) == 0;

		at = skip_blanks(s, end);
		at = skip_blanks(s, at + 1); /* ':' */
		if (found) {
			*ret = at;
			return at < s->len;
		}
		at = skip_blanks(s, skip_value(s, at));
		if (at < s->len && s->text[at] == ',')
			at = skip_blanks(s, at + 1);
	}
	return false;
}

/* The blanks before the first item, where that stands on a line of its own; else NULL. */
static const char *indent_of(const struct scan *s, size_t item, size_t *ret_len)
{
	size_t start = item;

	while (start > 0 && (s->text[start - 1] == ' ' || s->text[start - 1] == '\t'))
		start--;
	*ret_len = item - start;
	return start > 0 && s->text[start - 1] == '\n' ? s->text + start : NULL;
}

static int append_rules(struct buffer *out, const char *const *rules, size_t n, const char *separator)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = buffer_printf(out, "%s\"%s\"", i > 0 ? separator : "", rules[i]);
	return r;
}

/* What is put in: the rules, or the members of the way from .depth on that lead to them. */
static int append_new(struct buffer *out, size_t depth, const char *const *rules, size_t n, const char *separator)
{
	int r = 0;

	if (depth == ARRAY_SIZE(way))
		return append_rules(out, rules, n, separator);
	for (size_t i = depth; r == 0 && i < ARRAY_SIZE(way); i++)
		r = buffer_printf(out, "%s\"%s\": %s", i > depth ? "{ " : "", way[i],
				  i + 1 == ARRAY_SIZE(way) ? "[" : "");
	if (r == 0)
		r = append_rules(out, rules, n, ", ");
	if (r == 0)
		r = buffer_append_string(out, "]");
	for (size_t i = depth + 1; r == 0 && i < ARRAY_SIZE(way); i++)
		r = buffer_append_string(out, " }");
	return r;
}

/* First in the container that begins at open, in the form that it has: what comments are about stays where it is. */
static int insert(const struct scan *s, size_t open, size_t depth, const char *const *rules, size_t n,
		  struct buffer *ret)
{
	size_t first = skip_blanks(s, open + 1), indent_len;
	bool empty = first >= s->len || s->text[first] == '}' || s->text[first] == ']';
	const char *indent = empty ? NULL : indent_of(s, first, &indent_len);
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LIMIT_POLICY_FILE);
	int r = buffer_append(ret, s->text, open + 1);

	if (r == 0)
		r = buffer_append_string(&line, indent ? ",\n" : ", ");
	if (r == 0 && indent)
		r = buffer_append(&line, indent, indent_len);
	if (r == 0)
		r = buffer_append(&line, "", 1);
	if (r == 0 && indent)
		r = buffer_append_string(ret, line.data + 1);
	else if (r == 0 && depth < ARRAY_SIZE(way))
		r = buffer_append_string(ret, " ");
	if (r == 0)
		r = append_new(ret, depth, rules, n, line.data);
	if (r == 0 && !empty)
		r = buffer_append_string(ret, indent || s->text[open + 1] == ' ' ? "," : ", ");
	else if (r == 0 && depth < ARRAY_SIZE(way))
		r = buffer_append_string(ret, " ");
	return r < 0 ? r : buffer_append(ret, s->text + open + 1, s->len - open - 1);
}

static int new_file(const char *const *rules, size_t n, struct buffer *ret)
{
	int r = buffer_append_string(ret,
				     "{\n  \"sandbox\": {\n    \"network\": {\n      \"allowedDomains\": [\n        ");

	if (r == 0)
		r = append_rules(ret, rules, n, ",\n        ");
	return r < 0 ? r : buffer_append_string(ret, "\n      ]\n    }\n  }\n}\n");
}

static int edit(const char *text, size_t len, const char *const *rules, size_t n, struct buffer *ret)
{
	const struct scan s = { .text = text, .len = len };
	size_t at = skip_blanks(&s, 0), depth = 0;
	int r;

	if (at == len) {
		/* Comments alone: they stay. */
		r = buffer_append(ret, text, len);
		return r < 0 ? r : new_file(rules, n, ret);
	}
	while (depth < ARRAY_SIZE(way) && text[at] == '{' && find_member(&s, at, way[depth], &at))
		depth++;
	return insert(&s, at, depth, rules, n, ret);
}

static int load(const char *path, const char *text, size_t len, struct policy *ret, struct error *e)
{
	const struct policy_input input = { .layer = POLICY_USER, .path = path, .text = text, .len = len };

	return policy_load(&input, 1, ret, e);
}

static bool is_there(const struct policy *p, const char *rule)
{
	for (size_t i = 0; i < p->allowed_domains.count; i++)
		if (strcmp(p->allowed_domains.items[i].text, rule) == 0)
			return true;
	return false;
}

/* The new text means the old one and these rules. */
static bool is_proven(const char *path, const struct buffer *text, const struct policy *before,
		      const char *const *rules, size_t n)
{
	struct policy after = { .arena = NULL };
	struct error e = ERROR_INIT;
	bool ok = load(path, text->data, text->len, &after, &e) == 0 &&
		  after.allowed_domains.count == before->allowed_domains.count + n &&
		  after.denied_domains.count == before->denied_domains.count;

	for (size_t i = 0; ok && i < n; i++)
		ok = is_there(&after, rules[i]);
	for (size_t i = 0; ok && i < before->allowed_domains.count; i++)
		ok = is_there(&after, before->allowed_domains.items[i].text);
	policy_done(&after);
	return ok;
}

static bool is_blank(const char *text, size_t len)
{
	const struct scan s = { .text = text, .len = len };

	return skip_blanks(&s, 0) == len;
}

int policy_edit_allow(const char *path, const char *text, size_t len, const char *const *rules, size_t n,
		      struct buffer *ret, size_t *ret_added, struct error *e)
{
	_cleanup_free_ const char **missing = calloc(n + 1, sizeof(*missing));
	struct policy before = { .arena = NULL };
	size_t start = ret->len;
	int r = 0;

	*ret_added = 0;
	if (!missing)
		return error_set(e, ERROR_INTERNAL, ENOMEM, path, "", "There is no memory left.");
	if (!is_blank(text, len))
		r = load(path, text, len, &before, e);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (!is_there(&before, rules[i]))
			missing[(*ret_added)++] = rules[i];
	if (r == 0 && *ret_added == 0)
		r = buffer_append(ret, text, len);
	else if (r == 0)
		r = edit(text, len, missing, *ret_added, ret);
	if (r == 0 && *ret_added > 0) {
		const struct buffer added = { .data = ret->data + start, .len = ret->len - start };

		if (!is_proven(path, &added, &before, missing, *ret_added))
			r = error_set(e, ERROR_POLICY, EINVAL, path, "Write the rules into it by hand.",
				      "The rules cannot be put into this file without changing what else it says.");
	}
	policy_done(&before);
	if (r == -EMSGSIZE)
		return error_set(e, ERROR_LIMIT, E2BIG, path, "", "The file would be larger than a policy may be.");
	return r;
}
