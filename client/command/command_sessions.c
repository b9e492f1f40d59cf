/* isoctl sessions: what runs, one line each. */
#include <string.h>

#include "client/call.h"
#include "client/command.h"
#include "client/policy/grant_text.h"
#include "client/listing.h"
#include "client/report.h"

struct sessions_options {
	int all;
	int json;
};

static const struct option options[] = {
	{ "all", 'a', NULL, "ended ones too", OPTION_SET, offsetof(struct sessions_options, all), 1 },
	{ "json", 'j', NULL, "a JSON array of objects", OPTION_SET, offsetof(struct sessions_options, json), 1 },
	OPTION_END,
};

/* The columns before the command, which is as long as it is. */
static const struct column {
	const char *title;
	const char *member;
} columns[] = { { "ID", "id" },     { "NAME", "name" },       { "STATE", "state" },
		{ "EXIT", "exit" }, { "STARTED", "started" }, { "PROJECT", "project" } };

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))
/* Longer values push the rest of their line to the right. */
#define WIDTH_MAX 40

/* Characters, of text that has been escaped: a byte that continues a character is not counted. */
static size_t width_of(const char *text, size_t len)
{
	size_t width = 0;

	for (size_t i = 0; i < len; i++)
		width += ((unsigned char)text[i] & 0xc0) != 0x80;
	return width;
}

static size_t column_width(const struct column *column, const struct json_value *sessions)
{
	size_t widest = strlen(column->title);

	for (size_t i = 0; i < sessions->array.count; i++) {
		_cleanup_buffer_ struct buffer text = BUFFER_INIT(1U << 20);
		size_t width = 0;

		if (listing_append(&text, json_get(&sessions->array.items[i], column->member)) == 0)
			width = width_of(text.data, text.len);
		if (width > widest)
			widest = width;
	}
	return widest < WIDTH_MAX ? widest : WIDTH_MAX;
}

/* The session's value, or the title where there is no session, filled up to width. */
static int append_column(struct buffer *out, const struct column *column, const struct json_value *session,
			 size_t width)
{
	size_t start = out->len, used;
	int r = session ? listing_append(out, json_get(session, column->member))
			: buffer_append_string(out, column->title);

	if (r < 0)
		return r;
	used = width_of(out->data + start, out->len - start);
	return buffer_printf(out, "%*s", (int)(used < width ? width - used : 0) + 2, "");
}

/* Below the table, where it is not overlooked: it is rare. */
static int append_lacking(struct buffer *out, const struct json_value *session)
{
	const struct json_value *lacking = json_get(session, "lacking");
	int r = 0;

	for (size_t i = 0; r == 0 && lacking && lacking->type == JSON_ARRAY && i < lacking->array.count; i++) {
		r = listing_append(out, json_get(session, "id"));
		if (r == 0)
			r = buffer_append_string(out, ": ");
		if (r == 0)
			r = listing_append(out, &lacking->array.items[i]);
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

static int append_grants(struct buffer *out, const struct json_value *session)
{
	const struct json_value *grants = json_get(session, "grants");
	int r = 0;

	for (size_t i = 0; r == 0 && grants && grants->type == JSON_ARRAY && i < grants->array.count; i++) {
		r = listing_append(out, json_get(session, "id"));
		if (r == 0)
			r = buffer_append_string(out, ": granted ");
		if (r == 0)
			r = grant_text_append(out, &grants->array.items[i]);
	}
	return r;
}

static int append_ports(struct buffer *out, const struct json_value *session)
{
	_cleanup_buffer_ struct buffer before = BUFFER_INIT(1U << 10);
	int r = listing_append(&before, json_get(session, "id"));

	if (r == 0)
		r = buffer_append(&before, ": ", 3);
	return r < 0 ? r : listing_append_ports(out, before.data, session);
}

static int print(const struct json_value *sessions)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	size_t n = sessions->array.count, widths[N_COLUMNS];
	int r = 0;

	for (size_t c = 0; c < N_COLUMNS; c++)
		widths[c] = column_width(&columns[c], sessions);
	for (size_t c = 0; r == 0 && n > 0 && c < N_COLUMNS; c++)
		r = append_column(&out, &columns[c], NULL, widths[c]);
	if (r == 0 && n > 0)
		r = buffer_append_string(&out, "COMMAND\n");
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct json_value *session = &sessions->array.items[i];

		for (size_t c = 0; r == 0 && c < N_COLUMNS; c++)
			r = append_column(&out, &columns[c], session, widths[c]);
		if (r == 0)
			r = listing_append_argv(&out, json_get(session, "argv"));
		if (r == 0)
			r = buffer_append_string(&out, "\n");
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = append_lacking(&out, &sessions->array.items[i]);
		if (r == 0)
			r = append_grants(&out, &sessions->array.items[i]);
		if (r == 0)
			r = append_ports(&out, &sessions->array.items[i]);
	}
	return r < 0 ? 1 : listing_print(&out);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct sessions_options *o = filled;
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *sessions = NULL;
	struct error e = ERROR_INIT;
	int r;

	json_write_member_bool(call_begin(&call, "org.isod.List", 0), "all", o->all);
	r = call_send(&call, client, &e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, &e);
	if (r == 0)
		sessions = call_member(&call, "sessions", JSON_ARRAY, &e);
	if (!sessions) {
		report_error(&e);
		return 1;
	}
	listing_report_more(call.reply.parameters, "older sessions");
	return o->json ? listing_print_json(sessions) : print(sessions);
}

const struct command command_sessions = {
	.name = "sessions",
	.operands = "",
	.summary = "List your sessions (root: everybody's)",
	.options = options,
	.options_size = sizeof(struct sessions_options),
	.usage_exit = EXIT_USAGE,
	.run = run,
};
