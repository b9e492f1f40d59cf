/*
 * What one decision about the network costs, with few rules and with many.
 * usage: bench_decide. Prints one JSON object: nanoseconds of processor time a decision, medians.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "policy/egress.h"

enum { ROUNDS = 21, TURNS = 10000 };

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of ten rules: six hosts, two "*.", one network, one denial. */
static struct egress_rules make(unsigned n)
{
	struct egress_rules r = { .rules = calloc(n, sizeof(*r.rules)), .n_rules = n };
	static const uint8_t bits[] = { 32, 30, 28, 24 };
	char name[64];

	if (!r.rules)
		abort();
	for (unsigned i = 0; i < n; i++) {
		struct egress_rule *rule = &r.rules[i];

		rule->kind = i % 10 < 6 || i % 10 == 9 ? EGRESS_RULE_HOST : EGRESS_RULE_SUFFIX;
		rule->deny = i % 10 == 9;
		if (i % 10 == 8) {
			*rule = (struct egress_rule){ .kind = EGRESS_RULE_ADDRESS,
						      .family = AF_INET,
						      .bits = bits[i / 10 % 4],
						      .address = { 11 } };
			rule->address[1] = (uint8_t)(i >> 12);
			rule->address[2] = (uint8_t)(i >> 4);
			continue;
		}
		snprintf(name, sizeof(name), "host%u.example%u.com", i, i % 97);
		rule->name = strdup(name);
		if (!rule->name)
			abort();
	}
	if (egress_rules_prepare(&r) < 0)
		abort();
	return r;
}

enum question { LISTED, BELOW, UNLISTED, ADDRESS, QUESTION_COUNT };
static const char *const names[QUESTION_COUNT] = { "listed", "below", "unlisted", "address" };

/* One another rule each time, in no order that a cache could foresee. */
static void ask(enum question what, unsigned turn, unsigned n, struct egress_target *t, char name[128])
{
	unsigned i = (unsigned)((turn * 2654435761ULL + 12345) % (n / 10)) * 10;

	*t = (struct egress_target){ .name = name, .family = AF_INET, .port = 443 };
	switch (what) {
	case LISTED:
		snprintf(name, 128, "host%u.example%u.com", i, i % 97);
		break;
	case BELOW:
		snprintf(name, 128, "a.b.c.host%u.example%u.com", i + 6, (i + 6) % 97);
		break;
	case UNLISTED:
		snprintf(name, 128, "www.host%u.example%u.org", i, i % 97);
		break;
	default:
		t->name = NULL;
		memcpy(t->address, (uint8_t[4]){ 11, (uint8_t)((i + 8) >> 12), (uint8_t)((i + 8) >> 4), 0 }, 4);
		break;
	}
}

static double measure(const struct egress_rules *r, enum question what)
{
	static struct egress_target targets[TURNS];
	static char texts[TURNS][128];
	double times[ROUNDS];
	struct egress_verdict v;
	unsigned allowed = 0;

	for (unsigned i = 0; i < TURNS; i++)
		ask(what, i, r->n_rules, &targets[i], texts[i]);
	for (int round = 0; round < ROUNDS; round++) {
		double start = now_ns();

		for (unsigned i = 0; i < TURNS; i++) {
			egress_decide(r, &targets[i], &v);
			allowed += v.allowed;
		}
		times[round] = (now_ns() - start) / TURNS;
	}
	if (allowed != (what == UNLISTED ? 0 : TURNS * ROUNDS))
		abort();
	qsort(times, ROUNDS, sizeof(*times), compare);
	return times[ROUNDS / 2];
}

int main(void)
{
	static const unsigned sizes[] = { 10, 50000 };

	printf("{");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct egress_rules r = make(sizes[i]);

		printf("%s\"rules_%u\": {", i ? ", " : "", sizes[i]);
		for (unsigned what = 0; what < QUESTION_COUNT; what++)
			printf("%s\"%s_ns\": %.0f", what ? ", " : "", names[what], measure(&r, what));
		printf("}");
		egress_rules_done(&r);
	}
	printf("}\n");
	return 0;
}
