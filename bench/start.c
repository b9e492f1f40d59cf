/*
 * How long commands take from start to reap, side by side: posix_spawn (no copy of a big parent), wait4, CPU time.
 *
 *   start ROUNDS AT_ONCE ::: COMMAND ARG... [::: COMMAND ARG...]...
 *
 * Each round starts every command once, in turn, so that a change of the machine's mood meets all alike; with AT_ONCE
 * above 1 a round keeps that many of one command in flight until 8 * AT_ONCE have ended. The first round is not
 * counted. CPU is that of the children reaped here, not of daemons. Prints one JSON array, in the order given.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define AT_ONCE_MAX 64

extern char **environ;

struct command {
	char **argv;
	double *ms; /* one per start */
	size_t n, failed;
	double cpu_ms, wall_ms;
};

struct flight {
	pid_t pid;
	double began;
};

static posix_spawn_file_actions_t actions;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static void spawn(const struct command *c, struct flight *f)
{
	int r;

	f->began = now_ms();
	r = posix_spawnp(&f->pid, c->argv[0], &actions, NULL, c->argv, environ);
	if (r != 0) {
		fprintf(stderr, "start: %s: %s\n", c->argv[0], strerror(r));
		exit(1);
	}
}

static void reap(struct command *c, struct flight *flights, int at_once, int counted)
{
	struct rusage usage;
	int status;
	pid_t pid = wait4(-1, &status, 0, &usage);

	for (int i = 0; i < at_once; i++) {
		if (flights[i].pid != pid)
			continue;
		flights[i].pid = 0;
		if (!counted)
			return;
		c->ms[c->n++] = now_ms() - flights[i].began;
		c->failed += status != 0;
		c->cpu_ms += ms_of(usage.ru_utime) + ms_of(usage.ru_stime);
	}
}

static void round_of(struct command *c, int at_once, int counted)
{
	struct flight flights[AT_ONCE_MAX] = { 0 };
	int left = at_once > 1 ? 8 * at_once : 1, running = 0;
	double began = now_ms();

	while (left > 0 || running > 0) {
		for (int i = 0; i < at_once && left > 0; i++) {
			if (flights[i].pid != 0)
				continue;
			spawn(c, &flights[i]);
			left--;
			running++;
		}
		reap(c, flights, at_once, counted);
		running--;
	}
	if (counted)
		c->wall_ms += now_ms() - began;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(struct command *c, int last)
{
	double n = (double)c->n;

	qsort(c->ms, c->n, sizeof(*c->ms), compare);
	printf("{\"min_ms\":%.2f,\"median_ms\":%.2f,\"p95_ms\":%.2f,\"max_ms\":%.2f,\"cpu_ms\":%.2f,\"per_second\":%."
	       "1f,"
	       "\"failed\":%zu}%s\n",
	       c->ms[0], c->ms[c->n / 2], c->ms[c->n * 95 / 100], c->ms[c->n - 1], c->cpu_ms / n, n * 1e3 / c->wall_ms,
	       c->failed, last ? "" : ",");
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX] = { 0 };
	int n = 0, rounds = argc > 3 ? atoi(argv[1]) : 0, at_once = argc > 3 ? atoi(argv[2]) : 0;

	for (int i = 3; i < argc; i++) {
		if (strcmp(argv[i], ":::") != 0 || i + 1 == argc || n == COMMANDS_MAX)
			continue;
		argv[i] = NULL;
		commands[n++].argv = argv + i + 1;
	}
	if (n == 0 || rounds < 1 || at_once < 1 || at_once > AT_ONCE_MAX) {
		fputs("start ROUNDS AT_ONCE ::: COMMAND ARG... [::: COMMAND ARG...]...\n", stderr);
		return 2;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < n; i++)
		commands[i].ms = calloc((size_t)rounds * 8 * (size_t)at_once, sizeof(double));
	for (int r = 0; r <= rounds; r++)
		for (int i = 0; i < n; i++)
			round_of(&commands[i], at_once, r > 0);
	puts("[");
	for (int i = 0; i < n; i++)
		print(&commands[i], i == n - 1);
	puts("]");
	return 0;
}
