/* isoctl guard: what a line of shell would run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "client/command.h"
#include "client/listing.h"
#include "client/report.h"
#include "guard/unwrap.h"
#include "json/write.h"

struct guard_options {
	const char *check;
	int explain;
	int json;
};

static const struct option options[] = {
	{ "check", 0, "LINE", "the line of shell to look at", OPTION_STRING, offsetof(struct guard_options, check), 0 },
	{ "explain", 0, NULL, "say what it would run", OPTION_SET, offsetof(struct guard_options, explain), 1 },
	{ "json", 0, NULL, "print JSON", OPTION_SET, offsetof(struct guard_options, json), 1 },
	OPTION_END,
};

static void word_write(struct json_writer *w, const struct shell_word *word)
{
	if (word->text)
		json_write_bytes(w, word->text, word->len);
	else
		json_write_null(w);
}

static void command_write(struct json_writer *w, const struct shell_command *c)
{
	json_write_object(w);
	json_write_key(w, "words");
	json_write_array(w);
	for (size_t i = 0; i < c->n_words; i++)
		word_write(w, &c->words[i]);
	json_write_array_end(w);
	json_write_key(w, "assignments");
	json_write_object(w);
	for (size_t i = 0; i < c->n_assignments; i++) {
		bool again = false;

		/* Twice the same: the last one counts, as it would. */
		for (size_t j = i + 1; j < c->n_assignments && !again; j++)
			again = strcmp(c->assignments[i].name, c->assignments[j].name) == 0;
		if (again)
			continue;
		json_write_key(w, c->assignments[i].name);
		word_write(w, &c->assignments[i].value);
	}
	json_write_object_end(w);
	json_write_key(w, "via");
	json_write_array(w);
	for (const struct shell_via *via = c->via; via; via = via->outer)
		json_write_string(w, via->name);
	json_write_array_end(w);
	json_write_key(w, "at");
	json_write_array(w);
	json_write_integer(w, (int64_t)c->from);
	json_write_integer(w, (int64_t)c->to);
	json_write_array_end(w);
	json_write_object_end(w);
}

static int explain_json(const struct shell_script *script, bool complete)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_SHELL_MEMORY);
	struct json_writer *w = json_write_new(&out);

	json_write_object(w);
	json_write_member_bool(w, "complete", complete);
	json_write_key(w, "commands");
	json_write_array(w);
	for (size_t i = 0; i < script->n_commands; i++)
		command_write(w, &script->commands[i]);
	json_write_array_end(w);
	json_write_object_end(w);
	if (json_write_finish(w) < 0 || buffer_append(&out, "\n", 1) < 0)
		return 1;
	return listing_print(&out);
}

/* One line a command: its words as a shell would take them, "?" for what is not known, and what runs it. */
static int explain_text(const struct shell_script *script, bool complete)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_SHELL_MEMORY);
	int r = 0;

	for (size_t i = 0; i < script->n_commands && r == 0; i++) {
		const struct shell_command *c = &script->commands[i];

		for (size_t j = 0; j < c->n_words && r == 0; j++) {
			r = j > 0 ? buffer_append(&out, " ", 1) : 0;
			if (r == 0 && !c->words[j].text)
				r = buffer_append(&out, "?", 1);
			else if (r == 0)
				r = listing_append_argument(&out, c->words[j].text);
		}
		for (const struct shell_via *via = c->via; via && r == 0; via = via->outer)
			r = buffer_printf(&out, "%s%s", via == c->via ? "\t(by " : ", by ", via->name);
		if (r == 0)
			r = buffer_append_string(&out, c->via ? ")\n" : "\n");
	}
	if (r == 0 && !complete)
		r = buffer_append_string(&out, "...and more that cannot be read\n");
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct guard_options *o = filled;
	_cleanup_shell_script_ struct shell_script script = SHELL_SCRIPT_INIT;
	struct error e = ERROR_INIT;
	bool complete;
	int r, u;

	if (!o->check || !o->explain) {
		error_set(&e, ERROR_INVALID, EINVAL, "guard", "Say: isoctl guard --explain --check LINE.",
			  "The guard only explains yet: it needs --explain and --check.");
		report_error(&e);
		return EXIT_USAGE;
	}
	script.home = getenv("HOME");
	r = shell_parse(&script, o->check, strlen(o->check), NULL, 0, 0);
	u = r == -ENOMEM ? r : unwrap_script(&script);
	if (r == -ENOMEM || u == -ENOMEM) {
		error_set(&e, ERROR_LIMIT, ENOMEM, "guard", "", "The line takes more memory than is given to it.");
		report_error(&e);
		return 1;
	}
	complete = r == 0 && u == 0;
	return o->json ? explain_json(&script, complete) : explain_text(&script, complete);
}

const struct command command_guard = {
	.name = "guard",
	.operands = "",
	.summary = "Say what a line of shell would run",
	.details =
		"\nThe line is read as bash reads it, and so is what its programs would run in turn (sudo, xargs, sh "
		"-c,\n"
		"find -exec, python -c and some more). What only running could tell is shown as ?, in JSON as null.\n",
	.options = options,
	.options_size = sizeof(struct guard_options),
	.usage_exit = EXIT_USAGE,
	.run = run,
};
