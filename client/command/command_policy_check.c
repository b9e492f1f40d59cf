/* isoctl policy check: reads policy files as isod would, without isod. */
#include <string.h>

#include "client/command.h"
#include "client/escape.h"
#include "client/policy/policy_texts.h"
#include "client/report.h"

struct check_options {
	int layer; /* enum policy_layer_kind; 0: a file of --policy */
};

static const struct option options[] = {
	{ "administrator", 0, NULL, "as the administrator's file, which alone may pin hosts", OPTION_SET,
	  offsetof(struct check_options, layer), POLICY_ADMINISTRATOR },
	{ "user", 0, NULL, "as your own file, which alone of yours may say tls.noSni", OPTION_SET,
	  offsetof(struct check_options, layer), POLICY_USER },
	OPTION_END,
};

/* "FILE: ok", or "FILE:LINE: KEY: sentence" with what to do in the line below. */
static int check(const char *path, enum policy_layer_kind layer)
{
	struct policy_texts texts = { .count = 0 };
	struct policy policy = { 0 };
	struct error e = ERROR_INIT;
	int r = policy_texts_add_file(&texts, layer, path, &e);

	if (r == 0)
		r = policy_load(texts.inputs, texts.count, &policy, &e);
	escape_print(stdout, r == 0 ? path : e.step);
	fputs(": ", stdout);
	escape_print(stdout, r == 0 ? "ok" : e.message);
	fputc('\n', stdout);
	if (r < 0 && e.remedy[0]) {
		fputs("  remedy: ", stdout);
		escape_print(stdout, e.remedy);
		fputc('\n', stdout);
	}
	policy_done(&policy);
	policy_texts_done(&texts);
	return r;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct check_options *o = filled;
	int code = 0;

	for (int i = 0; i < n_operands; i++)
		if (check(operands[i], o->layer ? (enum policy_layer_kind)o->layer : POLICY_FILE) < 0)
			code = 1;
	return code;
}

const struct command command_policy_check = {
	.name = "policy check",
	.operands = "FILE…",
	.summary = "Check policy files; needs no isod",
	.options = options,
	.options_size = sizeof(struct check_options),
	.min_operands = 1,
	.max_operands = -1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
