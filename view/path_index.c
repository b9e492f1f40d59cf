#include "view/path_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "view/path_pattern.h"

/* A plain path. */
struct literal {
	const char *path; /* without backslashes */
	size_t len;
	uint32_t id;
	uint32_t class;
};

/* A pattern. */
struct wild {
	const char *pattern;
	const char *last; /* its last part; of a named one without backslashes */
	size_t last_len;
	const char *plain; /* of the parts before the last one a plain one, with both slashes; NULL: there is none */
	size_t plain_len;
	uint32_t id;
	bool anywhere; /* "/" "**" "/" and the last part, nothing else: the last part decides */
};

/* Which names a wild last part can match at all: those that begin with a byte, those that end with one, any; or it is a
 * "*", and matches all. */
#define KEY_LAST 256
#define KEY_ANY 512
#define KEY_EVERY 513
#define KEY_COUNT 514
/* Bytes that are searched for some text in the time of one comparison. */
#define SEARCHED 16

/* Hashes of names: one that is not in it is no name that was put into it. Most names of a tree are seen so to be in no
 * rule. */
struct names {
	uint64_t *bits;
	uint32_t mask; /* of a number of bits that is a power of two */
};

struct path_index {
	struct names ends;        /* last parts of plain paths, and plain last parts of patterns */
	struct names above;       /* the other parts of plain paths */
	struct literal *literals; /* by path, class, id */
	size_t n_literals;
	struct wild *named; /* by last */
	size_t n_named;
	struct wild *others; /* by key_of() */
	size_t n_others;
	size_t starts[KEY_COUNT + 1]; /* of each key in others */
	struct path_work *work;
	char *text;
};

/* FNV-1a. */
static uint32_t hash(const char *name, size_t len)
{
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619U;
	return h ^ h >> 15;
}

/* For at most n names: eight to sixteen bits for each. */
static int names_new(struct names *names, size_t n)
{
	size_t bits = 64;

	while (bits < 8 * n)
		bits *= 2;
	names->mask = (uint32_t)(bits - 1);
	names->bits = calloc(bits / 64, sizeof(*names->bits));
	return names->bits ? 0 : -ENOMEM;
}

static void names_add(struct names *names, uint32_t h)
{
	names->bits[(h & names->mask) / 64] |= 1ULL << (h & 63);
}

static bool names_may_have(const struct names *names, uint32_t h)
{
	return names->bits[(h & names->mask) / 64] >> (h & 63) & 1;
}

static bool is_clean(const char *pattern)
{
	const char *p = pattern;

	if (p[0] != '/' || strlen(p) >= LIMIT_PATH || path_pattern_parts(p) > LIMIT_PATTERN_PARTS)
		return false;
	while (*p == '/' && (p[1] != '\0' || p > pattern)) {
		size_t n = (size_t)(strchrnul(p + 1, '/') - (p + 1));

		if (n == 0 || (n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.'))
			return false;
		p += n + 1;
	}
	return true;
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;
	int r = memcmp(a, b, n);

	if (r != 0)
		return r;
	return (a_len > b_len) - (a_len < b_len);
}

static int compare_literals(const void *a, const void *b)
{
	const struct literal *x = a, *y = b;
	int r = compare_bytes(x->path, x->len, y->path, y->len);

	if (r == 0)
		r = (x->class > y->class) - (x->class < y->class);
	return r ? r : (x->id > y->id) - (x->id < y->id);
}

static int compare_named(const void *a, const void *b)
{
	const struct wild *x = a, *y = b;

	return compare_bytes(x->last, x->last_len, y->last, y->last_len);
}

static unsigned key_of(const struct wild *w)
{
	unsigned char first = (unsigned char)w->last[0], last = (unsigned char)w->last[w->last_len - 1];

	if (first == '*' && w->last_len == 1)
		return KEY_EVERY;
	if (first != '*' && first != '?' && first != '[' && first != '\\')
		return first;
	return last == '*' || last == '?' || last == ']' ? KEY_ANY : KEY_LAST + last;
}

static int compare_others(const void *a, const void *b)
{
	return (int)key_of(a) - (int)key_of(b);
}

static void index_others(struct path_index *x)
{
	size_t i = 0;

	qsort(x->others, x->n_others, sizeof(*x->others), compare_others);
	for (unsigned key = 0; key <= KEY_COUNT; key++) {
		while (i < x->n_others && key_of(&x->others[i]) < key)
			i++;
		x->starts[key] = i;
	}
}

static void drop_doubles(struct path_index *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_literals; i++) {
		const struct literal *l = &x->literals[i], *before = n ? &x->literals[n - 1] : NULL;

		if (!before || before->class != l->class ||
		    compare_bytes(before->path, before->len, l->path, l->len) != 0)
			x->literals[n++] = *l;
	}
	x->n_literals = n;
}

/* *text: where the copy goes, of at most as many bytes as pattern. */
static char *unescape(const char *pattern, char *text)
{
	if (path_pattern_unescape(pattern, text, strlen(pattern) + 1) < 0)
		return NULL;
	return text + strlen(text) + 1;
}

static bool is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '*' || text[i] == '?' || text[i] == '[' || text[i] == '\\')
			return false;
	return true;
}

/* What every path that the pattern matches has in it: looked for before the parts are tried one by one, which takes
 * long in deep paths. Behind a last "**" there may be no part, nor a slash. */
static void find_plain_part(struct wild *w)
{
	if (w->last_len == 2 && memcmp(w->last, "**", 2) == 0)
		return;
	for (const char *at = w->pattern, *end; (end = strchr(at + 1, '/')) != NULL; at = end) {
		size_t len = (size_t)(end + 1 - at);

		if (len > w->plain_len && is_plain(at, len)) {
			w->plain = at;
			w->plain_len = len;
		}
	}
}

static void add(struct path_index *x, const struct path_index_entry *entry, char **text)
{
	const char *last = strrchr(entry->pattern, '/');
	char *copy = *text, *after = unescape(entry->pattern, copy);
	struct wild *w;

	if (after) {
		x->literals[x->n_literals++] = (struct literal){ .path = copy,
								 .len = (size_t)(after - copy) - 1,
								 .id = entry->id,
								 .class = entry->class };
		*text = after;
		return;
	}
	after = unescape(last + 1, copy);
	w = after ? &x->named[x->n_named++] : &x->others[x->n_others++];
	*w = (struct wild){ .pattern = entry->pattern, .last = last + 1, .id = entry->id };
	w->anywhere = last == entry->pattern + 3 && memcmp(entry->pattern, "/**/", 4) == 0;
	if (after) {
		w->last = copy;
		*text = after;
	}
	w->last_len = strlen(w->last);
	find_plain_part(w);
}

static size_t count_parts(const struct path_index *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->n_literals; i++)
		for (size_t k = 0; k < x->literals[i].len; k++)
			n += x->literals[i].path[k] == '/';
	return n;
}

/* Neighbours have most of what is above them in common, which is put in once. */
static int index_names(struct path_index *x)
{
	const struct literal *before = NULL;

	if (names_new(&x->ends, x->n_literals + x->n_named) < 0 || names_new(&x->above, count_parts(x)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < x->n_literals; i++) {
		const struct literal *l = &x->literals[i];
		const char *name = l->path + 1, *end;

		for (; *(end = strchrnul(name, '/')) != '\0'; name = end + 1) {
			size_t len = (size_t)(end + 1 - l->path);

			if (!before || before->len < len || memcmp(before->path, l->path, len) != 0)
				names_add(&x->above, hash(name, (size_t)(end - name)));
		}
		names_add(&x->ends, hash(name, (size_t)(end - name)));
		before = l;
	}
	for (size_t i = 0; i < x->n_named; i++)
		names_add(&x->ends, hash(x->named[i].last, x->named[i].last_len));
	return 0;
}

int path_index_new(const struct path_index_entry *entries, size_t n, struct path_work *work, struct path_index **ret)
{
	size_t bytes = 1;
	struct path_index *x;
	char *text;

	for (size_t i = 0; i < n; i++) {
		if (!is_clean(entries[i].pattern))
			return -EINVAL;
		bytes += strlen(entries[i].pattern) + 1;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return -ENOMEM;
	x->work = work;
	x->literals = calloc(n + 1, sizeof(*x->literals));
	x->named = calloc(n + 1, sizeof(*x->named));
	x->others = calloc(n + 1, sizeof(*x->others));
	x->text = text = malloc(bytes);
	if (!x->literals || !x->named || !x->others || !x->text) {
		path_index_free(x);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		add(x, &entries[i], &text);
	qsort(x->literals, x->n_literals, sizeof(*x->literals), compare_literals);
	drop_doubles(x);
	qsort(x->named, x->n_named, sizeof(*x->named), compare_named);
	index_others(x);
	if (index_names(x) < 0) {
		path_index_free(x);
		return -ENOMEM;
	}
	*ret = x;
	return 0;
}

struct path_index *path_index_free(struct path_index *x)
{
	if (x) {
		free(x->ends.bits);
		free(x->above.bits);
		free(x->literals);
		free(x->named);
		free(x->others);
		free(x->text);
	}
	free(x);
	return NULL;
}

/* The first literal that is not before (path, len). */
static size_t first_literal(const struct path_index *x, const char *path, size_t len)
{
	size_t low = 0, high = x->n_literals;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_bytes(x->literals[middle].path, x->literals[middle].len, path, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static size_t first_named(const struct path_index *x, const char *name, size_t len)
{
	size_t low = 0, high = x->n_named;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_bytes(x->named[middle].last, x->named[middle].last_len, name, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Its last part matches already. */
static bool matches(const struct path_index *x, const struct wild *w, const struct path_part *p)
{
	size_t len = (size_t)(p->end - p->path);

	if (w->anywhere)
		return true;
	x->work->done += 1 + len / SEARCHED;
	if (w->plain && !memmem(p->path, len, w->plain, w->plain_len))
		return false;
	return path_pattern_match_part_counted(w->pattern, p->path, len, &x->work->done);
}

static void find_other(const struct path_index *x, unsigned key, const struct path_part *p, path_index_fn *fn,
		       void *context)
{
	for (size_t i = x->starts[key]; i < x->starts[key + 1] && x->work->done < x->work->bound; i++) {
		const struct wild *w = &x->others[i];

		if (!path_pattern_match_name_counted(w->last, w->last_len, p->name, (size_t)(p->end - p->name),
						     &x->work->done))
			continue;
		if (matches(x, w, p))
			fn(w->id, p->depth, p->whole, context);
	}
}

static void find_every(const struct path_index *x, const struct path_part *p, path_index_fn *fn, void *context)
{
	size_t first = x->starts[KEY_EVERY];

	for (size_t i = first; i < x->starts[KEY_EVERY + 1] && x->work->done < x->work->bound; i++) {
		const struct wild *w = &x->others[i];
		bool known = p->every && i - first < PATH_EVERY;

		x->work->done++;
		if (known ? (*p->every >> (i - first) & 1) != 0 : matches(x, w, p))
			fn(w->id, p->depth, p->whole, context);
	}
}

static void find_plain(const struct path_index *x, const struct path_part *p, path_index_fn *fn, void *context)
{
	size_t len = (size_t)(p->end - p->path), name_len = (size_t)(p->end - p->name);

	for (size_t i = first_literal(x, p->path, len); i < x->n_literals; i++) {
		const struct literal *l = &x->literals[i];

		if (l->len != len || memcmp(l->path, p->path, len) != 0)
			break;
		fn(l->id, p->depth, p->whole, context);
	}
	for (size_t i = first_named(x, p->name, name_len); i < x->n_named && x->work->done < x->work->bound; i++) {
		const struct wild *w = &x->named[i];

		if (w->last_len != name_len || memcmp(w->last, p->name, name_len) != 0)
			break;
		if (matches(x, w, p))
			fn(w->id, p->depth, p->whole, context);
	}
}

void path_index_find_part(const struct path_index *x, const struct path_part *p, path_index_fn *fn, void *context)
{
	if (names_may_have(&x->ends, p->hash))
		find_plain(x, p, fn, context);
	if (x->n_others == 0)
		return;
	find_other(x, (unsigned char)p->name[0], p, fn, context);
	find_other(x, KEY_LAST + (unsigned char)p->end[-1], p, fn, context);
	find_other(x, KEY_ANY, p, fn, context);
	find_every(x, p, fn, context);
}

uint64_t path_index_every(const struct path_index *x, const char *folder)
{
	char path[LIMIT_PATH + 3];
	size_t len = folder[1] ? strlen(folder) : 0;
	uint64_t every = 0;

	if (len >= LIMIT_PATH)
		return 0;
	memcpy(path, folder, len);
	memcpy(path + len, "/x", 3);
	for (size_t i = x->starts[KEY_EVERY], k = 0; i < x->starts[KEY_EVERY + 1] && k < PATH_EVERY; i++, k++)
		if (path_pattern_match_part_counted(x->others[i].pattern, path, len + 2, &x->work->done))
			every |= 1ULL << k;
	return every;
}

bool path_index_next(struct path_part *p)
{
	if (p->end[0] != '/' || p->end[1] == '\0')
		return false;
	p->name = p->end + 1;
	p->end = strchrnul(p->name, '/');
	p->depth++;
	p->whole = *p->end == '\0';
	p->hash = hash(p->name, (size_t)(p->end - p->name));
	return true;
}

void path_index_find(const struct path_index *x, const char *path, path_index_fn *fn, void *context)
{
	struct path_part p = { .path = path, .end = path };

	while (path_index_next(&p))
		path_index_find_part(x, &p, fn, context);
}

bool path_index_has_below(const struct path_index *x, const struct path_part *p)
{
	size_t len = (size_t)(p->end - p->path);
	char slash[LIMIT_PATH + 1];
	size_t i;

	if (len >= LIMIT_PATH || !names_may_have(&x->above, p->hash))
		return false;
	memcpy(slash, p->path, len);
	slash[len] = '/';
	i = first_literal(x, slash, len + 1);
	return i < x->n_literals && x->literals[i].len > len && memcmp(x->literals[i].path, slash, len + 1) == 0;
}
