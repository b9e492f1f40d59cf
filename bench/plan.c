/*
 * What isod-control, which has one thread for all clients, spends on one start: policy text -> rules -> plan -> bytes.
 * usage: bench_plan. Prints one JSON object, in milliseconds of processor time: medians.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/plan/plan_build.h"

#define ROUNDS 21

static const struct view_probe probe = {
	.roots = { { "/bin", "usr/bin", true },
		   { "/sbin", "usr/sbin", true },
		   { "/lib", "usr/lib", true },
		   { "/lib32", "", false },
		   { "/lib64", "usr/lib64", true },
		   { "/libx32", "", false } },
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A half grants, a half denials in them, in folders of a hundred; and some with wildcards, as people have them. */
static char *policy_text(unsigned n)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		abort();
	fprintf(f, "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/data\",\"~/.config/*/themes\"");
	for (unsigned i = 0; i < n / 2; i++)
		fprintf(f, ",\"/data/d%u/grant%u\"", i % 100, i);
	fprintf(f, "],\"denyRead\":[\"**/*.parquet\"");
	for (unsigned i = 0; i < n / 2; i++)
		fprintf(f, ",\"/data/d%u/grant%u/secret\"", i % 100, i);
	fprintf(f, "]}}}");
	if (fclose(f) != 0)
		abort();
	return text;
}

static void round_of(const char *text, double ms[3], uint32_t *ret_mounts)
{
	_cleanup_caller_ struct caller caller = CALLER_INIT;
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(LIMIT_PLAN);
	const char *const argv[] = { "true", NULL };
	struct run_parameters run = { .argv = { argv, 1 }, .cwd = "/home/alice/proj" };
	struct policy policy = { 0 };
	struct policy_input layer = { .layer = POLICY_ADMINISTRATOR, .path = "/p", .text = text, .len = strlen(text) };
	struct plan_input in = {
		.id = "0123456789ab", .caller = &caller, .run = &run, .policy = &policy, .probe = &probe
	};
	struct error e = ERROR_INIT;
	double at[4] = { now_ms() };
	int r = policy_load(&layer, 1, &policy, &e);

	at[1] = now_ms();
	if (r == 0)
		r = caller_set(&caller, 1000, 1000, "alice", "/home/alice", "/bin/sh");
	if (r == 0)
		r = plan_build(&in, &built, &e);
	at[2] = now_ms();
	if (r == 0)
		r = plan_encode(&built.plan, &bytes);
	at[3] = now_ms();
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", e.step, e.message);
		exit(1);
	}
	for (int i = 0; i < 3; i++)
		ms[i] = at[i + 1] - at[i];
	*ret_mounts = built.plan.n_mounts;
	policy_done(&policy);
}

int main(void)
{
	static const unsigned sizes[] = { 10, 1000, 10000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		_cleanup_free_ char *text = policy_text(sizes[i]);
		double times[3][ROUNDS];
		uint32_t mounts = 0;

		for (int k = 0; k < ROUNDS; k++) {
			double ms[3];

			round_of(text, ms, &mounts);
			for (int part = 0; part < 3; part++)
				times[part][k] = ms[part];
		}
		for (int part = 0; part < 3; part++)
			qsort(times[part], ROUNDS, sizeof(double), compare);
		printf("%s\"%u\": {\"policy_ms\": %.3f, \"plan_ms\": %.3f, \"encode_ms\": %.3f, \"mounts\": %u}%s\n",
		       i == 0 ? "{" : " ", sizes[i], times[0][ROUNDS / 2], times[1][ROUNDS / 2], times[2][ROUNDS / 2],
		       mounts, i + 1 == ARRAY_SIZE(sizes) ? "}" : ",");
	}
	return 0;
}
