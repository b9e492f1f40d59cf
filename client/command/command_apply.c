/* isoctl apply: takes over what a session has changed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "client/command.h"
#include "client/layer/layer.h"
#include "client/layer/layer_apply.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_select.h"
#include "client/report.h"

struct options {
	int force;
	int overwrite;
	int discard;
};

static const struct option options[] = {
	{ "force", 'f', NULL, "what may act on the host later, too", OPTION_SET, offsetof(struct options, force), 1 },
	{ "overwrite", 0, NULL, "also over what was changed on the host meanwhile", OPTION_SET,
	  offsetof(struct options, overwrite), 1 },
	{ "discard", 0, NULL, "remove the layer once everything was applied", OPTION_SET,
	  offsetof(struct options, discard), 1 },
	OPTION_END,
};

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
	stop = number;
}

/* Between two entries is a good place to end. */
static void catch_signals(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_RESETHAND };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

/* What root writes would be root's. */
static int check_user(const struct layer *l, struct error *e)
{
	if (l->uid == getuid())
		return 0;
	return error_set(e, ERROR_REFUSED, EPERM, "apply", "Apply it as that user.", "The layer belongs to uid %u.",
			 l->uid);
}

static int finish(const struct client *client, const struct options *o, const struct layer *l,
		  const struct apply_result *result, bool whole)
{
	struct error e = ERROR_INIT;

	printf("%zu applied, %zu not\n", result->applied, result->left);
	if (result->interrupted) {
		fputs("isoctl: interrupted; the same command goes on\n", stderr);
		return 128 + stop;
	}
	if (result->left > 0)
		return 1;
	if (!o->discard || !whole) {
		printf("The layer is kept: `isoctl discard %s` removes it.\n", l->id);
		return 0;
	}
	if (layer_discard(client, l, &e) == 0)
		return 0;
	report_error(&e);
	return 1;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct options *o = filled;
	const struct apply_options how = { .force = o->force, .overwrite = o->overwrite };
	_cleanup_layer_ struct layer layer = LAYER_INIT;
	_cleanup_changes_ struct changes changes = CHANGES_INIT;
	char leftover[LAYER_TEMPORARY_SIZE];
	struct apply_result result;
	struct error e = ERROR_INIT;
	char **paths;
	int r = layer_find_operands(client, operands, &layer, &paths, &e);

	if (r == 0)
		r = check_user(&layer, &e);
	if (r == 0)
		r = layer_open(client, &layer, true, &e);
	if (r == 0)
		r = layer_lock(&layer, &e);
	if (r == 0) {
		layer_apply_temporary(&layer, leftover);
		layer.leftover = leftover;
		r = changes_find(&layer, &changes, &e);
	}
	if (r == 0)
		r = layer_select(&layer, &changes, paths, &e);
	if (r < 0) {
		report_error(&e);
		return 1;
	}
	catch_signals();
	layer_apply(&layer, &changes, &how, &stop, &result);
	return finish(client, o, &layer, &result, !*paths);
}

const struct command command_apply = {
	.name = "apply",
	.operands = "[SESSION] [PATH]…",
	.summary = "Take over into the project what a session with --overlay has changed",
	.details =
		"Without SESSION (an id or name) it is the newest over the working directory; PATH: only what is "
		"changed "
		"there.\n"
		"What was changed on the host since the session began is a conflict: it stays, is named, and the exit "
		"code "
		"is\n"
		"1; everything else is applied. So it is with what may act on the host later (git hooks, settings of "
		"editors\n"
		"and agents, links out of the project) without --force. An interrupted apply goes on when called "
		"again.\n"
		"Owners, set-user-id bits, extended attributes and hard links are not taken over.\n",
	.options = options,
	.options_size = sizeof(struct options),
	.max_operands = -1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
