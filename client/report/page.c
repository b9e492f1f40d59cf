#include "client/report/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/listing.h"
#include "client/report/html.h"

#define WIDTH 960
#define HEIGHT 160

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
	"base-uri 'none'; form-action 'none'\">\n"
	"<meta name=\"referrer\" content=\"no-referrer\"><meta name=\"viewport\" content=\"width=device-width\">\n";

static const char style[] =
	"<style>:root{color-scheme:light dark;--ink:#1c2128;--paper:#fff;--line:#d0d7de;--allow:#1a7f37;--deny:#cf222e;"
	"--soft:#f6f8fa}@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;"
	"--allow:#3fb950;--deny:#f85149;--soft:#161b22}}@media print{:root{--ink:#000;--paper:#fff;--line:#999;"
	"--allow:#060;--deny:#900;--soft:#fff}}body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);"
	"background:var(--paper);max-width:62rem;margin:2rem auto;padding:0 "
	"1rem}h1{font-size:1.5rem}h2{font-size:1.1rem;"
	"margin-top:2rem}code,td{overflow-wrap:anywhere}code{font-family:ui-monospace,monospace}table{border-collapse:"
	"collapse;width:100%}th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid var(--line);"
	"vertical-align:top}td.n,th.n{text-align:right;white-space:nowrap}svg{width:100%;height:auto;background:"
	"var(--soft)}.a{fill:var(--allow)}.d{fill:var(--deny)}.t{fill:var(--ink);font-size:12px}.deny{color:var(--deny)"
	"}"
	".allow{color:var(--allow)}tr{break-inside:avoid}details pre{white-space:pre-wrap;overflow-wrap:anywhere}"
	"</style>\n";

static int put(struct buffer *out, const char *before, const char *text, const char *after)
{
	int r = buffer_append_string(out, before);

	if (r == 0)
		r = html_append_string(out, text);
	return r < 0 ? r : buffer_append_string(out, after);
}

static int row(struct buffer *out, const char *name, const struct json_value *v)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(PAGE_MAX);
	int r = v && v->type == JSON_ARRAY ? listing_append_argv(&text, v) : listing_append(&text, v);

	if (r == 0)
		r = put(out, "<tr><th>", name, "</th><td><code>");
	if (r == 0)
		r = html_append(out, text.data, text.len);
	return r < 0 ? r : buffer_append_string(out, "</code></td></tr>\n");
}

/* From Show where the session is known, else from its first line. */
static const struct json_value *member(const struct json_value *session, const struct facts *f, const char *name)
{
	const struct json_value *v = json_get(session, name);

	return v ? v : json_get(f->start.root, name);
}

static int what_ran(struct buffer *out, const struct facts *f, const struct json_value *session)
{
	static const char *const names[] = { "argv", "project", "name", "uid", "started" };
	static const char *const ends[] = { "exit", "signal", "cause", "durationMs", "message" };
	int r = buffer_append_string(out, "<h2>What ran</h2>\n<table>\n");

	for (size_t i = 0; r == 0 && i < sizeof(names) / sizeof(names[0]); i++)
		r = row(out, i == 0 ? "command" : names[i], member(session, f, names[i]));
	if (r == 0)
		r = row(out, "policy", json_get(f->start.root, "policy"));
	for (size_t i = 0; r == 0 && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (json_get(f->exit.root, ends[i]))
			r = row(out, ends[i], json_get(f->exit.root, ends[i]));
	if (r == 0 && !f->exit.root)
		r = buffer_append_string(out, "<tr><th>state</th><td>it has not ended</td></tr>\n");
	return r < 0 ? r : buffer_append_string(out, "</table>\n");
}

static void format_time(int64_t ms, char ret[32])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm t;

	ret[0] = '\0';
	if (ms > 0 && gmtime_r(&seconds, &t))
		strftime(ret, 32, "%Y-%m-%d %H:%M:%S", &t);
}

static int bar(struct buffer *out, size_t i, size_t n, uint64_t value, uint64_t most, bool up)
{
	unsigned height = value ? (unsigned)(value * (HEIGHT / 2 - 18) / most) : 0;
	unsigned width = (unsigned)(WIDTH / n), x = (unsigned)(i * WIDTH / n);

	if (value == 0)
		return 0;
	height = height > 2 ? height : 2;
	return buffer_printf(out,
			     "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"><title>%" PRIu64
			     " %s</title></rect>\n",
			     up ? "a" : "d", x, up ? HEIGHT / 2 - height : HEIGHT / 2, width > 1 ? width - 1 : 1,
			     height, value, up ? "allowed" : "refused");
}

/* Allowed ones above the line, refused ones below. */
static int timeline(struct buffer *out, const struct facts *f)
{
	char from[32], to[32];
	uint64_t most = 1;
	size_t n = 1;
	int r;

	for (size_t i = 0; i < FACTS_BINS; i++) {
		most = f->bins[i].allowed > most ? f->bins[i].allowed : most;
		most = f->bins[i].denied > most ? f->bins[i].denied : most;
	}
	if (f->bin_ms > 0 && f->last > f->first)
		n = (size_t)((f->last - f->first) / f->bin_ms) + 1;
	n = n > FACTS_BINS ? FACTS_BINS : n;
	format_time(f->first, from);
	format_time(f->last, to);
	r = buffer_printf(
		out,
		"<h2>Connections in time</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Connections "
		"allowed (above) and refused (below)\">\n<rect class=\"t\" x=\"0\" y=\"%d\" width=\"%d\" "
		"height=\"1\"/>\n",
		WIDTH, HEIGHT, HEIGHT / 2, WIDTH);
	for (size_t i = 0; r == 0 && i < n; i++) {
		r = bar(out, i, n, f->bins[i].allowed, most, true);
		if (r == 0)
			r = bar(out, i, n, f->bins[i].denied, most, false);
	}
	if (r < 0)
		return r;
	return buffer_printf(out,
			     "<text class=\"t\" x=\"4\" y=\"12\">allowed, at most %" PRIu64 " in %" PRId64
			     " ms</text><text class=\"t\" x=\"4\" y=\"%d\">refused</text>"
			     "</svg>\n<p>%s to %s UTC</p>\n",
			     most, f->bin_ms, HEIGHT - 6, from, to);
}

static int compare_hosts(const void *a, const void *b)
{
	const struct facts_host *x = a, *y = b;
	uint64_t first = x->out + x->in, second = y->out + y->in;

	return first != second ? (first < second ? 1 : -1) : strcmp(x->name, y->name);
}

static int host_row(struct buffer *out, const char *name, const struct facts_host *h)
{
	int r = put(out, "<tr><td><code>", name, "</code></td>");

	if (r < 0)
		return r;
	return buffer_printf(out,
			     "<td class=\"n allow\">%" PRIu64 "</td><td class=\"n deny\">%" PRIu64
			     "</td><td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64 "</td></tr>\n",
			     h->allowed, h->denied, h->out, h->in);
}

static int hosts(struct buffer *out, const struct facts *f)
{
	struct facts_host sorted[FACTS_HOSTS];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < FACTS_HOSTS; i++)
		if (f->hosts[i].name)
			sorted[n++] = f->hosts[i];
	if (n == 0)
		return buffer_append_string(out, "<h2>Hosts</h2>\n<p>None was asked for.</p>\n");
	qsort(sorted, n, sizeof(sorted[0]), compare_hosts);
	r = buffer_append_string(out, "<h2>Hosts</h2>\n<table><tr><th>host</th><th class=\"n\">allowed</th>"
				      "<th class=\"n\">refused</th><th class=\"n\">bytes out</th><th class=\"n\">bytes "
				      "in</th></tr>\n");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = host_row(out, sorted[i].name, &sorted[i]);
	if (r == 0 && f->others.allowed + f->others.denied > 0)
		r = host_row(out, "others, which are not named here", &f->others);
	return r < 0 ? r : buffer_append_string(out, "</table>\n");
}

static int list(struct buffer *out, const char *title, const char *none, const struct facts_items *l)
{
	int r = buffer_printf(out, "<h2>%s</h2>\n", title);

	if (r == 0 && l->count == 0)
		return buffer_printf(out, "<p>%s</p>\n", none);
	if (r == 0)
		r = buffer_append_string(out, "<table><tr><th>when (UTC)</th><th>what</th><th></th></tr>\n");
	for (size_t i = 0; r == 0 && i < l->count; i++) {
		char at[32];

		format_time(l->items[i].at, at);
		r = put(out, "<tr><td>", at, "</td>");
		if (r == 0)
			r = put(out, "<td>", l->items[i].what, "</td>");
		if (r == 0)
			r = put(out, "<td><code>", l->items[i].text, "</code></td></tr>\n");
	}
	if (r == 0)
		r = buffer_append_string(out, "</table>\n");
	return r < 0 || l->more == 0 ? r : buffer_printf(out, "<p>And %" PRIu64 " more.</p>\n", l->more);
}

static int policy_part(struct buffer *out, const struct json_value *policy)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(PAGE_MAX);
	int r = policy ? listing_append(&text, policy) : -ENODATA;

	if (r == -ENODATA)
		return 0;
	if (r == 0)
		r = buffer_append_string(out, "<details><summary>The policy</summary><pre>");
	if (r == 0)
		r = html_append(out, text.data, text.len);
	return r < 0 ? r : buffer_append_string(out, "</pre></details>\n");
}

static int title_of(struct buffer *out, const struct facts *f, const struct json_value *session)
{
	const struct json_value *id = json_get(session, "id"), *first = json_get(f->start.root, "session");
	const struct json_value *v = id ? id : first;
	const char *text = v && v->type == JSON_STRING ? v->string.data : "?";
	int r = put(out, "<title>isod session ", text, "</title>\n");

	if (r == 0)
		r = buffer_append_string(out, style);
	return r < 0 ? r : put(out, "</head><body>\n<h1>Session ", text, "</h1>\n");
}

int page_append(struct buffer *out, const struct facts *f, const struct json_value *session,
		const struct json_value *policy)
{
	static const char *const titles[FACTS_LIST_COUNT][2] = {
		[FACTS_REFUSALS] = { "Refused", "Nothing was refused." },
		[FACTS_FILES] = { "Files that run or steer something on the host", "None was made that isod watches." },
		[FACTS_QUESTIONS] = { "Questions and grants", "There was none." },
		[FACTS_LIMITS] = { "Limits and gaps", "None was met." },
	};
	int r = buffer_append_string(out, head);

	if (r == 0)
		r = title_of(out, f, session);
	if (r == 0)
		r = what_ran(out, f, session);
	if (r == 0)
		r = timeline(out, f);
	if (r == 0)
		r = hosts(out, f);
	for (size_t i = 0; r == 0 && i < FACTS_LIST_COUNT; i++)
		r = list(out, titles[i][0], titles[i][1], &f->lists[i]);
	if (r == 0)
		r = policy_part(out, policy);
	if (r < 0)
		return r;
	return buffer_printf(
		out, "<p>From %" PRIu64 " lines of the audit log; %" PRIu64 " could not be read.</p>\n</body></html>\n",
		f->lines, f->unreadable);
}
