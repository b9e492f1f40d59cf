/* isoctl replay: a recording on this terminal. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/call.h"
#include "client/command.h"
#include "client/escape.h"
#include "client/replay/cast_file.h"
#include "client/replay/record_store.h"
#include "client/replay/replay_filter.h"
#include "client/report.h"
#include "client/run/terminal.h"
#include "client/run/terminal_modes.h"

#define SKIP 5.0 /* seconds, by the right arrow */
#define CTRL_C 3

struct replay_options {
	const char *speed;
	const char *idle_limit;
	const char *at;
	int markers;
	int raw;
};

static const struct option options[] = {
	{ "speed", 's', "N", "N times as fast (0.1 to 1000)", OPTION_STRING, offsetof(struct replay_options, speed) },
	{ "idle-limit", 'i', "S", "no pause is longer than S seconds", OPTION_STRING,
	  offsetof(struct replay_options, idle_limit) },
	{ "at", 0, "N|TIME", "from the Nth denial on, or from 90s, 1:30", OPTION_STRING,
	  offsetof(struct replay_options, at) },
	{ "markers", 'm', NULL, "list what was decided, with its time, and play nothing", OPTION_SET,
	  offsetof(struct replay_options, markers), 1 },
	{ "raw", 0, NULL, "let titles, the clipboard and questions to the terminal through: for your own recordings",
	  OPTION_SET, offsetof(struct replay_options, raw), 1 },
	OPTION_END,
};

struct player {
	struct cast_file file;
	struct replay_filter filter;
	struct terminal_modes modes;
	double speed, idle_limit; /* 0: none */
	double from;              /* what is earlier is shown at once */
	bool raw;
	bool keys; /* stdin is a terminal, and raw */
	bool paused, quits, step, skips;
};

static bool parse_number(const char *text, double low, double high, double *ret)
{
	char *end;

	errno = 0;
	*ret = strtod(text, &end);
	return errno == 0 && end != text && *end == '\0' && isfinite(*ret) && *ret >= low && *ret <= high;
}

/* "90s", "1.5s", "1:30" */
static bool parse_time(const char *text, double *ret)
{
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *part = strdup(text);
	size_t n = strlen(text);
	double minutes;

	if (!part || n == 0)
		return false;
	if (colon) {
		part[colon - text] = '\0';
		if (!parse_number(part, 0, 1e6, &minutes) || !parse_number(colon + 1, 0, 60, ret))
			return false;
		*ret += minutes * 60;
		return true;
	}
	if (part[n - 1] != 's')
		return false;
	part[n - 1] = '\0';
	return parse_number(part, 0, 1e8, ret);
}

static bool is_denial(const struct cast_event *event)
{
	return event->kind == 'm' && strncmp(event->data, "denied ", 7) == 0;
}

/* Where the nth denial is. 0 or -errno with *e. */
static int find_denial(struct player *p, double nth, struct error *e)
{
	unsigned long long seen = 0;
	struct cast_event event;
	int r;

	while ((r = cast_file_next(&p->file, &event, e)) > 0) {
		if (is_denial(&event) && (double)++seen == nth) {
			p->from = event.time;
			return cast_file_rewind(&p->file, e);
		}
	}
	return r < 0 ? r
		     : error_set(e, ERROR_INVALID, ENOENT, "--at", "isoctl replay --markers lists them.",
				 "The recording has %llu denials.", seen);
}

static int list_markers(struct player *p, struct error *e)
{
	struct cast_event event;
	int r;

	while ((r = cast_file_next(&p->file, &event, e)) > 0) {
		if (event.kind != 'm')
			continue;
		printf("%10.3f  ", event.time);
		escape_print(stdout, event.data);
		putchar('\n');
	}
	return r < 0 ? r : fflush(stdout) == 0 ? 0 : error_set(e, ERROR_INTERNAL, errno, "stdout", "", "Cannot write.");
}

static int show(struct player *p, const struct cast_event *event, struct error *e)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(4 * (size_t)CAST_FILE_LINE_MAX);
	int r = p->raw ? buffer_append(&out, event->data, event->len)
		       : replay_filter(&p->filter, event->data, event->len, &out);

	terminal_modes_feed(&p->modes, out.data, out.len);
	if (r == 0 && out.len > 0)
		r = fd_write_full(STDOUT_FILENO, out.data, out.len);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "stdout", "", "Cannot write: %s.", strerror(-r)) : 0;
}

static void take_key(struct player *p)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n <= 0) {
		p->keys = false;
		p->quits = p->paused;
		return;
	}
	p->skips = n >= 3 && memcmp(keys, "\x1b[C", 3) == 0;
	for (ssize_t i = 0; i < n; i++) {
		if (keys[i] == '\x1b') /* another key's sequence, or an answer of the terminal */
			return;
		if (keys[i] == 'q' || keys[i] == CTRL_C)
			p->quits = true;
		else if (keys[i] == ' ')
			p->paused = !p->paused;
		else if (keys[i] == '.')
			p->step = p->paused;
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Waits so many seconds of the player's time; keys change that. */
static void wait_for(struct player *p, double seconds)
{
	double end = now() + seconds;

	p->step = p->skips = false;
	while (!p->quits && !p->step && !p->skips) {
		struct pollfd keys = { .fd = p->keys ? STDIN_FILENO : -1, .events = POLLIN };
		double left = end - now(), at = now();

		if (!p->paused && left <= 0)
			return;
		if (poll(&keys, 1, p->paused ? -1 : left > 60 ? 60000 : (int)(left * 1000) + 1) > 0 && keys.revents)
			take_key(p);
		if (p->paused)
			end += now() - at;
	}
}

static int play(struct player *p, struct error *e)
{
	struct cast_event event;
	double last = p->from;
	int r = 0;

	while (!p->quits && (r = cast_file_next(&p->file, &event, e)) > 0) {
		double wait = event.time - last;

		if (event.kind != 'o')
			continue;
		if (event.time >= p->from) {
			if (p->idle_limit > 0 && wait > p->idle_limit)
				wait = p->idle_limit;
			last = event.time;
			wait_for(p, wait / p->speed);
			if (p->skips)
				last = p->from = event.time + SKIP;
		}
		r = p->quits ? 0 : show(p, &event, e);
		if (r < 0)
			return r;
	}
	return p->quits ? 0 : r;
}

static void play_begin(struct player *p)
{
	uint16_t rows, columns;

	if (isatty(STDOUT_FILENO)) {
		terminal_size(&rows, &columns);
		if (rows < p->file.rows || columns < p->file.columns)
			fprintf(stderr, "isoctl: recorded with %ux%u, this terminal has %ux%u\n", p->file.columns,
				p->file.rows, columns, rows);
	}
	p->keys = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && terminal_raw(STDIN_FILENO) == 0;
}

static void play_end(struct player *p)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(4096);

	if (terminal_modes_reset(&p->modes, &out) == 0 && out.len > 0)
		(void)fd_write_full(STDOUT_FILENO, out.data, out.len);
	terminal_restore();
}

/* A file, or the recording that was kept of a session, by id or name. Heap memory; NULL with *e. */
static char *find(const struct client *client, const char *operand, struct error *e)
{
	_cleanup_free_ char *kept = NULL;
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *session, *id = NULL;
	int r;

	if (strchr(operand, '/') || access(operand, F_OK) == 0)
		return strdup(operand);
	kept = record_store_path(operand);
	if (kept && access(kept, F_OK) == 0)
		return take_ptr(kept);
	json_write_member_string(call_begin(&call, "org.isod.Show", 0), "session", operand);
	r = call_send(&call, client, e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, e);
	session = r == 0 ? call_member(&call, "session", JSON_OBJECT, e) : NULL;
	id = session ? json_get(session, "id") : NULL;
	if (!id || id->type != JSON_STRING || strchr(id->string.data, '/'))
		return NULL;
	return record_store_path(id->string.data);
}

static int prepare(struct player *p, const struct replay_options *o, struct error *e)
{
	double nth;

	p->speed = 1;
	p->raw = o->raw;
	if (o->speed && !parse_number(o->speed, 0.1, 1000, &p->speed))
		return error_set(e, ERROR_INVALID, EINVAL, "--speed", "Write a number of 0.1 to 1000.",
				 "\"%s\" is no speed.", o->speed);
	if (o->idle_limit && !parse_number(o->idle_limit, 0.001, 1e6, &p->idle_limit))
		return error_set(e, ERROR_INVALID, EINVAL, "--idle-limit", "Write seconds: 2, 0.5.",
				 "\"%s\" is no time.", o->idle_limit);
	if (!o->at || parse_time(o->at, &p->from))
		return 0;
	if (!parse_number(o->at, 1, 1e9, &nth) || nth != (double)(long long)nth)
		return error_set(e, ERROR_INVALID, EINVAL, "--at", "Write 3 for the third denial, 90s or 1:30.",
				 "\"%s\" is neither the number of a denial nor a time.", o->at);
	return find_denial(p, nth, e);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct replay_options *o = filled;
	struct player p = { .file = CAST_FILE_INIT, .modes = TERMINAL_MODES_INIT };
	struct error e = ERROR_INIT;
	_cleanup_free_ char *path = find(client, operands[0], &e);
	int r = path ? cast_file_open(path, &p.file, &e) : -ENOENT;

	if (r == 0)
		r = prepare(&p, o, &e);
	if (r == 0 && o->markers) {
		r = list_markers(&p, &e);
	} else if (r == 0) {
		play_begin(&p);
		r = play(&p, &e);
		play_end(&p);
	}
	cast_file_done(&p.file);
	if (r < 0)
		report_error(&e);
	return r < 0;
}

const struct command command_replay = {
	.name = "replay",
	.operands = "FILE|SESSION",
	.summary = "Play a recording of a session",
	.details = "FILE: of isoctl run --record, or any asciicast of version 2. SESSION: the id or name of one that a "
		   "policy\n"
		   "recorded (session.record).\n\n"
		   "Keys: space pauses, . goes one step on in a pause, right skips five seconds, q ends.\n"
		   "Text, colours and movements reach the terminal; what would set its title or clipboard or make it "
		   "answer does\n"
		   "not, unless --raw is given.\n",
	.options = options,
	.options_size = sizeof(struct replay_options),
	.min_operands = 1,
	.max_operands = 1,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
