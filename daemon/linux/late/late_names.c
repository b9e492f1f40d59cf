#include "daemon/linux/late/late_names.h"

#include <errno.h>
#include <string.h>

int late_names_parse(const char *pattern, size_t len, struct late_name *ret)
{
	*ret = (struct late_name){ 0 };
	for (size_t i = 0; i < len; i++) {
		char c = pattern[i];

		if (c == '?' || c == '[')
			return -EOPNOTSUPP;
		if (c == '*') {
			if (ret->tail_len > 0)
				return -EOPNOTSUPP;
			ret->star = true;
			continue;
		}
		if (c == '\\' && i + 1 < len)
			c = pattern[++i];
		if (ret->star) {
			if (ret->tail_len + 1 >= LATE_TAIL)
				return -EOPNOTSUPP;
			ret->tail[ret->tail_len++] = c;
		} else {
			if (ret->head_len + 1 >= LATE_HEAD)
				return -EOPNOTSUPP;
			ret->head[ret->head_len++] = c;
		}
	}
	return 0;
}

void late_names_init(struct late_names *names, struct late_record *record)
{
	*names = (struct late_names){ .record = record, .n_sets = 1 };
}

static bool same_name(const struct late_name *a, const struct late_name *b)
{
	return a->star == b->star && a->head_len == b->head_len && a->tail_len == b->tail_len &&
	       memcmp(a->head, b->head, LATE_HEAD) == 0 && memcmp(a->tail, b->tail, LATE_TAIL) == 0;
}

static struct late_names_entry *find(struct late_names_entry *entries, unsigned n, const struct late_name *name)
{
	for (unsigned i = 0; i < n; i++)
		if (same_name(&entries[i].name, name))
			return &entries[i];
	return NULL;
}

/* Whether one name could have to be compared with more stars than the kernel's side looks at. */
static bool is_crowded(const struct late_record *r)
{
	for (unsigned first = 0; first < LATE_BUCKETS; first++)
		for (unsigned last = 0; last < LATE_BUCKETS; last++)
			for (unsigned half = 0; half < 2; half++)
				if (__builtin_popcountll(r->first[first][half] & r->last[last][half]) > LATE_CANDIDATES)
					return true;
	return false;
}

static void set_bit(unsigned long long set[2], unsigned bit, bool on)
{
	if (on)
		set[bit / 64] |= 1ULL << bit % 64;
	else
		set[bit / 64] &= ~(1ULL << bit % 64);
}

/* Bytes that the name leaves open are any. */
static void mark_star(struct late_record *r, unsigned star, const struct late_name *name, bool on)
{
	unsigned char one = (unsigned char)name->head[0], two = (unsigned char)name->head[1];
	unsigned char end = name->tail_len > 0 ? (unsigned char)name->tail[name->tail_len - 1] : 0;

	for (unsigned i = 0; i < LATE_BUCKETS; i++) {
		/* After one byte any bucket may follow: 5 is odd. */
		if (name->head_len < 2 || i == LATE_FIRST(one, two))
			set_bit(r->first[i], star, on);
		if (name->tail_len == 0 || i == LATE_LAST(end))
			set_bit(r->last[i], star, on);
	}
}

static struct late_names_entry *new_star(struct late_names *names, const struct late_name *name)
{
	struct late_record *r = names->record;

	if (names->n_stars == LATE_STARS)
		return NULL;
	mark_star(r, names->n_stars, name, true);
	if (is_crowded(r)) {
		mark_star(r, names->n_stars, name, false);
		return NULL;
	}
	return &names->stars[names->n_stars++];
}

static struct late_names_entry *new_plain(struct late_names *names, const struct late_name *name)
{
	return name->head_len > 0 && names->n_plain < LATE_PLAIN / 2 ? &names->plain[names->n_plain++] : NULL;
}

int late_names_add(struct late_names *names, const struct late_name *name, unsigned place, unsigned bit)
{
	struct late_names_entry *entry =
		name->star ? find(names->stars, names->n_stars, name) : find(names->plain, names->n_plain, name);

	if (!entry) {
		entry = name->star ? new_star(names, name) : new_plain(names, name);
		if (!entry)
			return -ENOSPC;
		*entry = (struct late_names_entry){ .name = *name };
	}
	entry->fits[place] |= 1ULL << bit;
	return 0;
}

/* The number of the set that these rules are; many names have the same. */
static int find_set(struct late_names *names, const unsigned long long fits[LATE_DEPTH])
{
	struct late_record *r = names->record;
	unsigned i = 0;

	while (i < names->n_sets && memcmp(r->sets[i], fits, sizeof(r->sets[i])) != 0)
		i++;
	if (i == LATE_SETS)
		return -ENOSPC;
	if (i == names->n_sets)
		memcpy(r->sets[names->n_sets++], fits, sizeof(r->sets[i]));
	return (int)i;
}

static int finish_star(struct late_names *names, unsigned number)
{
	const struct late_names_entry *entry = &names->stars[number];
	struct late_star *star = &names->record->stars[number];
	int set = find_set(names, entry->fits);

	if (set < 0)
		return set;
	memcpy(star->head, entry->name.head, LATE_HEAD);
	memcpy(star->tail, entry->name.tail, LATE_TAIL);
	star->head_len = entry->name.head_len;
	star->tail_len = entry->name.tail_len;
	star->set = (unsigned)set;
	return 0;
}

/* Puts a name at one of its places; what is there already goes to its other one, and so on. */
static int settle(struct late_record *r, unsigned long long hash, unsigned char set)
{
	unsigned place = LATE_PLACE_1(hash);

	for (unsigned i = 0; i < LATE_PLAIN; i++) {
		unsigned long long other = r->plain[place];
		unsigned char other_set = r->plain_set[place];

		r->plain[place] = hash;
		r->plain_set[place] = set;
		if (other == 0)
			return 0;
		hash = other;
		set = other_set;
		place = place == LATE_PLACE_1(hash) ? LATE_PLACE_2(hash) : LATE_PLACE_1(hash);
	}
	return -EILSEQ;
}

static int finish_plain(struct late_names *names, unsigned number)
{
	const struct late_names_entry *entry = &names->plain[number];
	const struct late_name *name = &entry->name;
	struct late_record *r = names->record;
	unsigned long long words[LATE_HEAD / 8];
	int set = find_set(names, entry->fits);

	if (set < 0)
		return set;
	memcpy(words, name->head, sizeof(words));
	r->ends[LATE_FIRST((unsigned char)name->head[0], (unsigned char)name->head[1])] |=
		1ULL << LATE_LAST((unsigned char)name->head[name->head_len - 1]);
	return settle(r, late_hash(words, r->seed), (unsigned char)set);
}

int late_names_finish(struct late_names *names)
{
	int r = 0;

	for (unsigned i = 0; i < names->n_stars && r == 0; i++)
		r = finish_star(names, i);
	for (unsigned i = 0; i < names->n_plain && r == 0; i++)
		r = finish_plain(names, i);
	return r;
}
