/* isoctl log: the audit log of one session, or what is asked for of all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "client/call.h"
#include "client/command.h"
#include "client/denial.h"
#include "client/escape.h"
#include "client/listing.h"
#include "client/report.h"

struct log_options {
	int follow;
	int json;
	int denied;
	const char *since, *until;
	const char *host, *program;
};

static const struct option options[] = {
	{ "follow", 'f', NULL, "wait for more until the session ends", OPTION_SET, offsetof(struct log_options, follow),
	  1 },
	{ "json", 'j', NULL, "the lines as they are stored, one JSON object each", OPTION_SET,
	  offsetof(struct log_options, json), 1 },
	{ "denied", 'd', NULL, "only what was refused, with the rule and what to do", OPTION_SET,
	  offsetof(struct log_options, denied), 1 },
	{ "since", 0, "TIME", "not before: 2026-01-31, 2026-01-31T12:00:00Z (UTC), or 90s, 30m, 6h, 2d ago",
	  OPTION_STRING, offsetof(struct log_options, since), 0 },
	{ "until", 0, "TIME", "not after", OPTION_STRING, offsetof(struct log_options, until), 0 },
	{ "host", 0, "HOST", "about this host or address; *.HOST: and all below it", OPTION_STRING,
	  offsetof(struct log_options, host), 0 },
	{ "program", 0, "NAME", "by this program: its name or its path", OPTION_STRING,
	  offsetof(struct log_options, program), 0 },
	OPTION_END,
};

/* Milliseconds since 1970. 0 or -EINVAL. */
static int parse_time(const char *text, int64_t *ret)
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = { 1, 60, 3600, 86400 };
	struct tm tm = { 0 };
	char *end;
	long long n = strtoll(text, &end, 10);
	const char *unit = end > text && end[0] != '\0' && end[1] == '\0' ? strchr(units, end[0]) : NULL;

	if (unit && n >= 0 && n < 1000000000) {
		*ret = ((int64_t)time(NULL) - n * seconds[unit - units]) * 1000;
		return *ret > 0 ? 0 : -EINVAL;
	}
	end = strptime(text, "%Y-%m-%d", &tm);
	if (end && *end == 'T')
		end = strptime(end, "T%H:%M:%S", &tm);
	if (!end || (*end != '\0' && strcmp(end, "Z") != 0))
		return -EINVAL;
	*ret = (int64_t)timegm(&tm) * 1000;
	return *ret > 0 ? 0 : -EINVAL;
}

static const char *text_of(const struct json_value *event, const char *name)
{
	const struct json_value *v = json_get(event, name);

	return v && v->type == JSON_STRING ? v->string.data : "";
}

static bool is_about_host(const struct json_value *event, const char *host)
{
	static const char *const members[] = { "name", "address", "host" };
	const bool below = strncmp(host, "*.", 2) == 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const char *text = text_of(event, members[i]);
		size_t n = strlen(text), len = strlen(host + 1);

		if (strcasecmp(text, below ? host + 2 : host) == 0 ||
		    (below && n > len && strcasecmp(text + n - len, host + 1) == 0))
			return true;
	}
	return false;
}

static bool is_by(const struct json_value *event, const char *program)
{
	const char *text = text_of(event, "program"), *name = strrchr(text, '/');

	return strcmp(text, program) == 0 || (name && strcmp(name + 1, program) == 0);
}

static bool is_wanted(const struct json_value *event, const struct log_options *o)
{
	return (!o->denied || denial_is_one(event)) && (!o->host || is_about_host(event, o->host)) &&
	       (!o->program || is_by(event, o->program));
}

/* time event key=value ... */
static int append_event(struct buffer *out, const struct json_value *event)
{
	static const char *const first[] = { "time", "event" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++) {
		r = listing_append(out, json_get(event, first[i]));
		if (r == 0)
			r = buffer_append_string(out, i == 0 ? " " : "");
	}
	for (size_t i = 0; r == 0 && i < event->object.count; i++) {
		const struct json_member *m = &event->object.members[i];

		/* Those of the chain are for `isoctl log verify`. */
		if (strcmp(m->name, first[0]) == 0 || strcmp(m->name, first[1]) == 0 || strcmp(m->name, "seq") == 0 ||
		    strcmp(m->name, "prev") == 0)
			continue;
		r = buffer_append_string(out, " ");
		if (r == 0)
			r = escape_append(out, m->name, strlen(m->name));
		if (r == 0)
			r = buffer_append_string(out, "=");
		if (r == 0)
			r = listing_append(out, &m->value);
	}
	return r;
}

static int append_for_people(struct buffer *out, const struct json_value *event, bool denied)
{
	bool known = false;
	int r = denied ? denial_append(out, event, &known) : 0;

	if (r < 0 || known)
		return r;
	r = append_event(out, event);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static int print_line(const char *text, size_t len, const struct log_options *o)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(64U << 20);
	_cleanup_json_ struct json_document event = JSON_DOCUMENT_INIT;
	const bool filtered = o->denied || o->host || o->program;
	bool readable =
		(filtered || !o->json) && json_read(text, len, 0, &event, NULL) == 0 && event.root->type == JSON_OBJECT;
	int r;

	if (filtered && !(readable && is_wanted(event.root, o)))
		return 0;
	if (readable && !o->json) {
		r = append_for_people(&out, event.root, o->denied);
	} else {
		r = o->json ? buffer_append(&out, text, len) : escape_append(&out, text, len);
		if (r == 0)
			r = buffer_append_string(&out, "\n");
	}
	return r < 0 ? 1 : listing_print(&out);
}

static int write_times(struct json_writer *w, const struct log_options *o, struct error *e)
{
	const struct {
		const char *name, *text;
	} times[] = { { "since", o->since }, { "until", o->until } };

	for (size_t i = 0; i < 2; i++) {
		int64_t ms;

		if (!times[i].text)
			continue;
		if (parse_time(times[i].text, &ms) < 0)
			return error_set(e, ERROR_INVALID, EINVAL, times[i].name,
					 "Say 2026-01-31, 2026-01-31T12:00:00Z, or 30m, 6h, 2d.", "%s is no time.",
					 times[i].text);
		json_write_member_integer(w, times[i].name, ms);
	}
	return 0;
}

/* session: NULL for all. 0, or 1 where it could not be shown; -errno with *e. */
static int show(const struct client *client, const struct log_options *o, const char *session, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Log", CALL_MORE);
	int r, code = 0;

	if (session)
		json_write_member_string(w, "session", session);
	json_write_member_bool(w, "follow", o->follow);
	if (o->host)
		json_write_member_string(w, "host", o->host);
	if (o->program)
		json_write_member_string(w, "program", o->program);
	if (o->denied)
		json_write_member_bool(w, "denied", true);
	r = write_times(w, o, e);
	if (r == 0)
		r = call_send(&call, client, e);
	do {
		const struct json_value *line;

		/* Through all sessions it may be long until a line is found. */
		if (r == 0)
			r = call_reply(&call, o->follow || !session ? -1 : CALL_TIMEOUT_MS, e);
		if (r < 0)
			return r;
		line = json_get(call.reply.parameters, "line");
		/* The last reply of a stream may be an empty one. */
		if (line && line->type == JSON_STRING && line->string.len > 0)
			code = print_line(line->string.data, line->string.len, o);
	} while (code == 0 && call.reply.continues);
	return code;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct log_options *o = filled;
	struct error e = ERROR_INIT;
	int r;

	if (n_operands == 0 && (o->follow || !(o->denied || o->since || o->until || o->host || o->program))) {
		error_set(
			&e, ERROR_INVALID, EINVAL, "log", "isoctl sessions --all lists them.",
			"Name a session; only a question to all goes without one: --denied, --since, --until, --host, "
			"--program, without --follow.");
		report_error(&e);
		return EXIT_USAGE;
	}
	r = show(client, o, n_operands > 0 ? operands[0] : NULL, &e);
	if (r >= 0)
		return r;
	report_error(&e);
	return e.code == ERROR_INVALID && (strcmp(e.step, "since") == 0 || strcmp(e.step, "until") == 0) ? EXIT_USAGE
													 : 1;
}

const struct command command_log = {
	.name = "log",
	.operands = "[SESSION]",
	.summary = "Show what a session did and was denied",
	.details = "SESSION: the session's id or name. Without it: all your sessions (root: all), the oldest first.\n",
	.options = options,
	.options_size = sizeof(struct log_options),
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
