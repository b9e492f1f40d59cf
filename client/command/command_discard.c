/* isoctl discard: forgets what a session has changed. */
#include <stdio.h>

#include "client/command.h"
#include "client/layer/layer.h"
#include "client/report.h"

static const struct option options[] = { OPTION_END };

static int discard_one(const struct client *client, const char *session, struct error *e)
{
	_cleanup_layer_ struct layer layer = LAYER_INIT;
	int r = layer_find(client, session, &layer, e);

	if (r == 0)
		r = layer_discard(client, &layer, e);
	if (r == 0)
		printf("%s\n", layer.id);
	return r;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	int code = 0;

	for (int i = 0; i < (n_operands ? n_operands : 1); i++) {
		struct error e = ERROR_INIT;

		if (discard_one(client, n_operands ? operands[i] : NULL, &e) == 0)
			continue;
		report_error(&e);
		code = 1;
	}
	return code;
}

const struct command command_discard = {
	.name = "discard",
	.operands = "[SESSION]…",
	.summary = "Remove what sessions with --overlay have changed, for good",
	.details = "Without SESSION (an id or name) it is the newest over the working directory. Prints the ids.\n",
	.options = options,
	.max_operands = -1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
