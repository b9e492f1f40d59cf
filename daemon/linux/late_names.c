#include "daemon/linux/late_names.h"

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

static unsigned bucket(char c)
{
	return (unsigned char)c % LATE_BUCKETS;
}

static bool is_star(const struct late_star *star, const struct late_name *name)
{
	return star->head_len == name->head_len && star->tail_len == name->tail_len &&
	       memcmp(star->head, name->head, LATE_HEAD) == 0 && memcmp(star->tail, name->tail, LATE_TAIL) == 0;
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

/* An end that the name leaves open is anything. */
static void mark(unsigned long long buckets[LATE_BUCKETS][2], unsigned star, bool open, char c, bool on)
{
	for (unsigned i = 0; i < LATE_BUCKETS; i++) {
		if (!open && i != bucket(c))
			continue;
		if (on)
			buckets[i][star / 64] |= 1ULL << star % 64;
		else
			buckets[i][star / 64] &= ~(1ULL << star % 64);
	}
}

static void mark_star(struct late_record *r, unsigned star, const struct late_name *name, bool on)
{
	mark(r->first, star, name->head_len == 0, name->head[0], on);
	mark(r->last, star, name->tail_len == 0, name->tail_len > 0 ? name->tail[name->tail_len - 1] : '\0', on);
}

/* Room for a new set; *ret is its number. */
static int new_set(struct late_names *names, unsigned *ret)
{
	if (names->n_sets >= LATE_SETS)
		return -ENOSPC;
	*ret = names->n_sets++;
	return 0;
}

static int find_star(struct late_names *names, const struct late_name *name, unsigned *ret_set)
{
	struct late_record *r = names->record;
	struct late_star *star;
	int err;

	for (unsigned i = 0; i < names->n_stars; i++)
		if (is_star(&r->stars[i], name)) {
			*ret_set = r->stars[i].set;
			return 0;
		}
	if (names->n_stars >= LATE_STARS)
		return -ENOSPC;
	mark_star(r, names->n_stars, name, true);
	err = is_crowded(r) ? -ENOSPC : new_set(names, ret_set);
	if (err < 0) {
		mark_star(r, names->n_stars, name, false);
		return err;
	}
	star = &r->stars[names->n_stars++];
	memcpy(star->head, name->head, LATE_HEAD);
	memcpy(star->tail, name->tail, LATE_TAIL);
	star->head_len = name->head_len;
	star->tail_len = name->tail_len;
	star->set = *ret_set;
	return 0;
}

/* Plain names of the same meaning share a set: there are more names than sets. */
static int share_set(struct late_names *names, unsigned mine, unsigned place, unsigned bit, unsigned *ret)
{
	unsigned long long wanted[LATE_DEPTH];

	memcpy(wanted, names->record->sets[mine], sizeof(wanted));
	wanted[place] |= 1ULL << bit;
	for (unsigned i = 0; i < names->n_plain; i++)
		if (memcmp(names->record->sets[names->plain[i].set], wanted, sizeof(wanted)) == 0) {
			*ret = names->plain[i].set;
			return 0;
		}
	if (new_set(names, ret) < 0)
		return -ENOSPC;
	memcpy(names->record->sets[*ret], wanted, sizeof(wanted));
	return 0;
}

static int add_plain(struct late_names *names, const struct late_name *name, unsigned place, unsigned bit)
{
	unsigned i = 0, set = 0;
	int r;

	while (i < names->n_plain && memcmp(names->plain[i].name.head, name->head, LATE_HEAD) != 0)
		i++;
	if (i >= LATE_PLAIN / 2)
		return -ENOSPC;
	if (i < names->n_plain)
		set = names->plain[i].set;
	r = share_set(names, set, place, bit, &set);
	if (r < 0)
		return r;
	if (i == names->n_plain) {
		names->plain[i].name = *name;
		names->n_plain++;
	}
	names->plain[i].set = set;
	return 0;
}

int late_names_add(struct late_names *names, const struct late_name *name, unsigned place, unsigned bit)
{
	unsigned set;
	int r;

	if (!name->star)
		return name->head_len == 0 ? -ENOSPC : add_plain(names, name, place, bit);
	r = find_star(names, name, &set);
	if (r < 0)
		return r;
	names->record->sets[set][place] |= 1ULL << bit;
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

int late_names_finish(struct late_names *names)
{
	struct late_record *r = names->record;

	for (unsigned i = 0; i < names->n_plain; i++) {
		const struct late_name *name = &names->plain[i].name;
		unsigned long long words[LATE_HEAD / 8];
		int err;

		memcpy(words, name->head, sizeof(words));
		err = settle(r, late_hash(words, r->seed), (unsigned char)names->plain[i].set);
		if (err < 0)
			return err;
		r->ends[bucket(name->head[0])] |= 1ULL << bucket(name->head[name->head_len - 1]);
	}
	return 0;
}
