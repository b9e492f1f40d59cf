/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef ISOD_LINUX_LATE_WALK_H
#define ISOD_LINUX_LATE_WALK_H
/*
 * A part of late_hooks.bpf.c: which rules of a record a path's names fit, walked from its last name upwards.
 */
#include <linux/bpf.h>
#include <stdbool.h>

#include "daemon/linux/late/late_kernel.h"
#include "daemon/linux/late/late_record.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define NOWHERE 0xffffffffu

/* The lowest bit of set, by multiplication with a de Bruijn sequence: clang 14 fails over __builtin_ctzll() here. */
static const __u8 bit_numbers[64] = {
	0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,  62, 55, 59, 36, 53, 51,
	43, 22, 45, 39, 33, 30, 24, 18, 12, 5,  63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
	44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6,
};

static __always_inline __u32 lowest_bit(__u64 set)
{
	return bit_numbers[((set & -set) * 0x03f79d71b4cb0a89ULL) >> 58];
}

struct walk {
	struct late_record *record;
	__u64 at;                     /* dentry */
	__u64 so_far[LATE_DEPTH - 1]; /* rules whose last 1, 2, 3 names were the last ones seen */
	__u64 asked;                  /* rules that forbid the operation */
	__u64 allow;                  /* rules that permit it */
	__u64 any;                    /* of the root */
	__u64 direct;
	__u32 limit;   /* levels below the root */
	__u32 folder;  /* the thing asked about is one */
	__u64 refused; /* rules of the deepest level that forbids */
	/* The deepest level, from the last name up, of a rule of each rank; NOWHERE = none holds. */
	__u64 at_firm, at_built_in, at_exempt, at_allow, at_named;
};

/* All ones where x is 0, else 0. Without a branch, as all of the comparison: the verifier follows both ways of each,
 * and the loop around it multiplies them. */
static __always_inline __u64 if_zero(__u64 x)
{
	x |= -x;
	asm volatile("" : "+r"(x)); /* else clang makes a branch of it */
	return (x >> 63) - 1;
}

/* All ones where the name fits, else 0. */
static __always_inline __u64 fits_star(const struct late_star *star, const unsigned char *name, __u32 len)
{
	__u64 head[LATE_HEAD / 8] = {}, tail[LATE_TAIL / 8] = {}, differs;
	const __u64 *h = (const __u64 *)star->head, *t = (const __u64 *)star->tail;
	__u64 n = star->head_len, m = star->tail_len;

	differs = ((__u64)len - n - m) >> 63;
	/* Out of the compiler's sight, which knows that they are smaller; the verifier does not. */
	asm volatile("%0 &= 31\n%1 &= 15" : "+r"(n), "+r"(m));
	differs |= bpf_probe_read_kernel(head, n, name);
	differs |= bpf_probe_read_kernel(tail, m, name + len - m);
	for (int i = 0; i < LATE_HEAD / 8; i++)
		differs |= head[i] ^ h[i];
	for (int i = 0; i < LATE_TAIL / 8; i++)
		differs |= tail[i] ^ t[i];
	return if_zero(differs);
}

/* What one name is to the rules. */
struct look {
	__u64 name; /* its address */
	__u64 len;
	__u64 fits[LATE_DEPTH]; /* the rules that have it at their last place, at the one before it, ... */
};

/* Names with a star that it may be. */
struct stars {
	struct late_record *record;
	struct look *look;
	__u64 left[2];
};

static __always_inline void compare_half(struct stars *s, __u32 half)
{
	__u64 left = s->left[half];
	struct late_star *star = &s->record->stars[(half * 64 + lowest_bit(left)) % LATE_STARS];
	__u64 is_it = fits_star(star, (const unsigned char *)s->look->name, s->look->len) & ~if_zero(left);
	__u64 *set = s->record->sets[star->set % LATE_SETS];

	for (int d = 0; d < LATE_DEPTH; d++)
		s->look->fits[d] |= set[d] & is_it;
	s->left[half] = left & (left - 1);
}

static long compare_stars(__u32 i, void *data)
{
	struct stars *s = data;

	compare_half(s, 0);
	compare_half(s, 1);
	return !(s->left[0] | s->left[1]);
}

/* With a stack of its own: there are 512 bytes for all. */
static __noinline int find_plain(struct late_record *record, struct look *look)
{
	__u64 words[LATE_HEAD / 8] = {}, len = look->len, hash;
	__u64 *one, *two, is_one, is_two;

	asm volatile("%0 &= 31" : "+r"(len));
	bpf_probe_read_kernel(words, len, (const void *)look->name);
	hash = late_hash(words, record->seed);
	is_one = if_zero(record->plain[LATE_PLACE_1(hash)] ^ hash);
	is_two = if_zero(record->plain[LATE_PLACE_2(hash)] ^ hash);
	one = record->sets[record->plain_set[LATE_PLACE_1(hash)] % LATE_SETS];
	two = record->sets[record->plain_set[LATE_PLACE_2(hash)] % LATE_SETS];
	for (int d = 0; d < LATE_DEPTH; d++)
		look->fits[d] |= (one[d] & is_one) | (two[d] & is_two);
	return 0;
}

/* Not static: the verifier looks at such a function once, whoever calls it; else it follows all ways through it from
 * each level of each walk, and newer ones give up. */
__noinline int late_find_rules(struct late_record *record, struct look *look)
{
	struct stars s = { .record = record, .look = look };
	__u8 bytes[2] = {}, end = 0;
	__u32 first, last;

	if (!record || !look)
		return 1;
	bpf_probe_read_kernel(bytes, sizeof(bytes), (const void *)look->name);
	bpf_probe_read_kernel(&end, 1, (const void *)(look->name + look->len - 1));
	first = LATE_FIRST((__u32)bytes[0], (__u32)bytes[1]);
	last = LATE_LAST((__u32)end);
	if (look->len < LATE_HEAD && record->ends[first] >> last & 1)
		find_plain(record, look);
	s.left[0] = record->first[first][0] & record->last[last][0];
	s.left[1] = record->first[first][1] & record->last[last][1];
	if (s.left[0] | s.left[1])
		bpf_loop(LATE_CANDIDATES, compare_stars, &s, 0);
	return 0;
}

/* All ones where a < b, both below 2^63; else 0. */
static __always_inline __u64 if_less(__u64 a, __u64 b)
{
	a -= b;
	asm volatile("" : "+r"(a));
	return -(a >> 63);
}

/* Branchless: *at becomes level where rules hold there and level is less. */
static __always_inline void note(__u64 *at, __u64 rules, __u64 level)
{
	*at ^= (*at ^ level) & if_less(level, *at) & ~if_zero(rules);
}

/* Rules of n names that were complete with the name of this level. */
static __always_inline void weigh(struct walk *w, __u64 rules, __u64 level, __u64 n)
{
	const struct late_record *r = w->record;
	__u64 holds_at = level - (n - 1), refused, deepest;

	rules &= r->length[n - 1];
	rules &= w->any | (w->direct & if_zero((level + 1) ^ w->limit));
	rules &= ~((r->files_only & ~if_zero(holds_at | w->folder)) | (r->itself & ~if_zero(holds_at)));
	refused = rules & w->asked;
	deepest = if_less(holds_at, w->at_firm) & if_less(holds_at, w->at_built_in) & ~if_zero(refused);
	w->refused ^= (w->refused ^ refused) & deepest;
	note(&w->at_firm, refused & r->firm, holds_at);
	note(&w->at_built_in, refused & ~r->firm, holds_at);
	note(&w->at_exempt, rules & r->exempt, holds_at);
	note(&w->at_exempt, rules & r->exempt_below & ~if_zero(holds_at), 0);
	note(&w->at_allow, rules & w->allow, holds_at);
	note(&w->at_named, rules & w->allow & r->named, holds_at);
}

static long walk_one(__u32 level, void *data)
{
	struct walk *w = data;
	struct dentry *d = (struct dentry *)w->at;
	__u64 up = (__u64)BPF_CORE_READ(d, d_parent);
	struct look look = {};
	const __u64 *fits = look.fits;

	if (level >= w->limit || up == w->at)
		return 1;
	look.name = (__u64)BPF_CORE_READ(d, d_name.name);
	look.len = BPF_CORE_READ(d, d_name.len);
	if (look.len > 0)
		late_find_rules(w->record, &look);
	weigh(w, fits[0], level, 1);
	weigh(w, w->so_far[0] & fits[1], level, 2);
	weigh(w, w->so_far[1] & fits[2], level, 3);
	weigh(w, w->so_far[2] & fits[3], level, 4);
	w->so_far[2] = w->so_far[1] & fits[2];
	w->so_far[1] = w->so_far[0] & fits[1];
	w->so_far[0] = fits[0];
	w->at = up;
	return 0;
}

static __always_inline void walk_names(struct walk *w, struct dentry *d)
{
	w->at = (__u64)d;
	w->so_far[0] = w->so_far[1] = w->so_far[2] = 0;
	w->at_firm = w->at_built_in = w->at_exempt = w->at_allow = w->at_named = NOWHERE;
	w->refused = 0;
	bpf_loop(LATE_LEVELS, walk_one, w, 0);
}

#endif
