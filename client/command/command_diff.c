/* isoctl diff: what a session would change in its project. */
#include <string.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/command.h"
#include "client/escape.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_listing.h"
#include "client/layer/layer_select.h"
#include "client/layer/layer_text.h"
#include "client/listing.h"
#include "client/report.h"

struct diff_options {
	int list;
	int json;
	int stat;
	int name_only;
};

static const struct option options[] = {
	{ "list", 'l', NULL, "list the kept layers instead", OPTION_SET, offsetof(struct diff_options, list), 1 },
	{ "json", 'j', NULL, "one JSON object (with --list: an array)", OPTION_SET, offsetof(struct diff_options, json),
	  1 },
	{ "stat", 's', NULL, "no texts, only what kind of change each is", OPTION_SET,
	  offsetof(struct diff_options, stat), 1 },
	{ "name-only", 0, NULL, "only the paths", OPTION_SET, offsetof(struct diff_options, name_only), 1 },
	OPTION_END,
};

static int print_list(const struct client *client, bool json)
{
	_cleanup_call_ struct call call = CALL_INIT;
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	static const char *const members[] = { "session", "name", "started", "running", "project" };
	struct error e = ERROR_INIT;
	const struct json_value *layers = layer_list(client, &call, &e);
	int r = 0;

	if (!layers) {
		report_error(&e);
		return 1;
	}
	listing_report_more(call.reply.parameters, "layers");
	if (json)
		return listing_print_json(layers);
	for (size_t i = 0; i < layers->array.count && r == 0; i++)
		for (size_t m = 0; m < ARRAY_SIZE(members) && r == 0; m++) {
			const struct json_value *v = json_get(&layers->array.items[i], members[m]);

			if (strcmp(members[m], "running") == 0)
				r = buffer_append_string(&out,
							 v && v->type == JSON_BOOL && v->boolean ? "running" : "ended");
			else
				r = listing_append(&out, v);
			if (r == 0)
				r = buffer_append_string(&out, m + 1 < ARRAY_SIZE(members) ? "  " : "\n");
		}
	return r < 0 ? 1 : listing_print(&out);
}

static bool is_shown(const struct change *c)
{
	return c->flags & CHANGE_SELECTED && layer_listing_is_told(c);
}

static int append_names(struct buffer *out, const struct changes *c)
{
	int r = 0;

	for (size_t i = 0; i < c->count && r == 0; i++) {
		if (!is_shown(&c->items[i]))
			continue;
		r = escape_append(out, c->items[i].path, strlen(c->items[i].path));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

static int append_lines(struct buffer *out, const struct layer *l, const struct changes *c)
{
	int r = 0;

	for (unsigned g = 0; g < LISTING_GROUPS; g++)
		for (size_t i = 0; i < c->count && r == 0; i++)
			if (is_shown(&c->items[i]) && layer_listing_group(&c->items[i]) == g)
				r = layer_listing_append(out, l, &c->items[i]);
	return r < 0 ? r : layer_listing_append_totals(out, c);
}

static void print_texts(const struct layer *l, const struct changes *c)
{
	struct layer_text text;

	layer_text_init(&text, l);
	for (unsigned g = 0; g < LISTING_GROUPS; g++)
		for (size_t i = 0; i < c->count; i++)
			if (is_shown(&c->items[i]) && layer_listing_group(&c->items[i]) == g)
				layer_text_print(&text, &c->items[i]);
	layer_text_done(&text);
}

static int print(const struct diff_options *o, const struct layer *l, const struct changes *c)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1U << 30);
	int r;

	if (o->json)
		r = layer_listing_append_json(&out, l, c);
	else
		r = o->name_only ? append_names(&out, c) : append_lines(&out, l, c);
	if (r < 0) {
		fprintf(stderr, "isoctl: diff: %s\n", strerror(-r));
		return 1;
	}
	if (listing_print(&out) != 0)
		return 1;
	if (!o->json && !o->name_only && !o->stat)
		print_texts(l, c);
	return 0;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct diff_options *o = filled;
	_cleanup_layer_ struct layer layer = LAYER_INIT;
	_cleanup_changes_ struct changes changes = CHANGES_INIT;
	struct error e = ERROR_INIT;
	char **paths;
	int r;

	if (o->list)
		return print_list(client, o->json);
	r = layer_find_operands(client, operands, &layer, &paths, &e);
	if (r == 0)
		r = layer_open(client, &layer, false, &e);
	if (r == 0)
		r = changes_find(&layer, &changes, &e);
	if (r == 0)
		r = layer_select(&layer, &changes, paths, &e);
	if (r < 0) {
		report_error(&e);
		return 1;
	}
	return print(o, &layer, &changes);
}

const struct command command_diff = {
	.name = "diff",
	.operands = "[SESSION] [PATH]…",
	.summary = "Show what a session with --overlay would change in its project",
	.details =
		"Without SESSION (an id or name) it is the newest over the working directory. Told first are deletions "
		"and\n"
		"changed modes, then what may act on the host later (hooks, settings of editors and agents), then the "
		"rest\n"
		"with its texts (by the program diff). PATH: only what is changed there.\n",
	.options = options,
	.options_size = sizeof(struct diff_options),
	.max_operands = -1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
