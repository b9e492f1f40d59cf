#include "client/report/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

const char *const facts_list_names[FACTS_LIST_COUNT] = { "refusals", "files", "questions", "limits" };

static const char *text_of(const struct json_value *line, const char *name)
{
	const struct json_value *v = json_get(line, name);

	return v && v->type == JSON_STRING ? v->string.data : NULL;
}

static uint64_t number_of(const struct json_value *line, const char *name, uint64_t without)
{
	const struct json_value *v = json_get(line, name);

	return v && v->type == JSON_INTEGER && v->integer >= 0 ? (uint64_t)v->integer : without;
}

/* "2026-01-01T00:00:00.000Z"; 0 where it is none. */
static int64_t time_of(const struct json_value *line)
{
	const char *text = text_of(line, "time"), *rest;
	struct tm t = { 0 };
	int ms = 0;

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &t) : NULL;
	if (!rest || (rest[0] == '.' && sscanf(rest, ".%3d", &ms) != 1) || ms < 0)
		return 0;
	return (int64_t)timegm(&t) * 1000 + ms;
}

static int keep(struct facts *f, enum facts_list list, int64_t at, const char *what, const char *text)
{
	struct facts_items *l = &f->lists[list];
	struct facts_item item = { .at = at };

	if (l->count == FACTS_ITEMS) {
		l->more++;
		return 0;
	}
	if (!l->items)
		l->items = calloc(FACTS_ITEMS, sizeof(*l->items));
	item.what = strdup(what ? what : "");
	item.text = strdup(text ? text : "");
	if (!l->items || !item.what || !item.text) {
		free(item.what);
		free(item.text);
		return -ENOMEM;
	}
	l->items[l->count++] = item;
	return 0;
}

/* The picture covers all there is: where it does not, two bins become one. */
static void count_in_time(struct facts *f, int64_t at, uint64_t allowed, uint64_t denied)
{
	int64_t bin;

	if (at == 0 || f->first == 0)
		return;
	if (f->bin_ms == 0)
		f->bin_ms = 100;
	/* Clocks go back; a connection that was before the first line is one of the first bin. */
	for (bin = at > f->first ? (at - f->first) / f->bin_ms : 0; bin >= FACTS_BINS; bin /= 2) {
		for (size_t i = 0; i < FACTS_BINS; i++) {
			struct facts_bin both = { 0 };

			if (2 * i + 1 < FACTS_BINS) {
				both.allowed = f->bins[2 * i].allowed + f->bins[2 * i + 1].allowed;
				both.denied = f->bins[2 * i].denied + f->bins[2 * i + 1].denied;
			}
			f->bins[i] = both;
		}
		f->bin_ms *= 2;
	}
	f->bins[bin].allowed += allowed;
	f->bins[bin].denied += denied;
}

static struct facts_host *host_of(struct facts *f, const char *name)
{
	uint32_t hash = 2166136261U;

	for (const char *c = name; *c; c++)
		hash = (hash ^ (unsigned char)*c) * 16777619U;
	for (size_t i = 0; i < FACTS_HOSTS; i++) {
		struct facts_host *h = &f->hosts[(hash + i) % FACTS_HOSTS];

		if (h->name && strcmp(h->name, name) == 0)
			return h;
		if (h->name)
			continue;
		h->name = strdup(name);
		if (!h->name)
			return NULL;
		f->n_hosts++;
		return h;
	}
	return &f->others;
}

static int add_connection(struct facts *f, const struct json_value *line, int64_t at)
{
	const char *name = text_of(line, "name"), *verdict = text_of(line, "verdict");
	_cleanup_free_ char *target = NULL;
	uint64_t count = number_of(line, "count", 1), port = number_of(line, "port", 0);
	bool allowed = verdict && strcmp(verdict, "allow") == 0;
	struct facts_host *h;
	int n;

	if (!name)
		name = text_of(line, "address");
	n = port > 0 ? asprintf(&target, "%s:%" PRIu64, name ? name : "?", port)
		     : asprintf(&target, "%s", name ? name : "?");
	if (n < 0) {
		target = NULL;
		return -ENOMEM;
	}
	h = host_of(f, target);
	if (!h)
		return -ENOMEM;
	h->allowed += allowed ? count : 0;
	h->denied += allowed ? 0 : count;
	h->out += number_of(line, "bytesUp", 0);
	h->in += number_of(line, "bytesDown", 0);
	count_in_time(f, at, allowed ? count : 0, allowed ? 0 : count);
	return allowed ? 0 : keep(f, FACTS_REFUSALS, at, text_of(line, "reason"), target);
}

static int add_agent(struct facts *f, const struct json_value *line, int64_t at)
{
	const char *verdict = text_of(line, "verdict"), *target = text_of(line, "for");

	if (!verdict || strcmp(verdict, "deny") != 0)
		return 0;
	return keep(f, FACTS_REFUSALS, at, text_of(line, "reason"), target ? target : text_of(line, "event"));
}

/* What of a line is told in the list, beside its event. */
static const struct kind {
	const char *event;
	enum facts_list list;
	const char *member;
} kinds[] = {
	{ "secret.refused", FACTS_REFUSALS, "path" }, { "plant.refused", FACTS_REFUSALS, "path" },
	{ "planted", FACTS_FILES, "path" },           { "made", FACTS_FILES, "path" },
	{ "unprotected", FACTS_FILES, "path" },       { "secret.moved", FACTS_FILES, "path" },
	{ "grant", FACTS_QUESTIONS, "rule" },         { "grant.used", FACTS_QUESTIONS, "rule" },
	{ "grant.expired", FACTS_QUESTIONS, "rule" }, { "revoke", FACTS_QUESTIONS, "rule" },
	{ "budget", FACTS_LIMITS, "direction" },      { "lacking", FACTS_LIMITS, "text" },
	{ "events.lost", FACTS_LIMITS, "reason" },    { "record", FACTS_LIMITS, "state" },
	{ "late.lost", FACTS_LIMITS, NULL },          { "late.more", FACTS_LIMITS, NULL },
};

static int add_event(struct facts *f, const struct json_value *line, const char *event, int64_t at)
{
	if (strcmp(event, "connection") == 0 || strcmp(event, "dns.denied") == 0 ||
	    strcmp(event, "packet.refused") == 0)
		return add_connection(f, line, at);
	if (strcmp(event, "ssh-agent") == 0 || strcmp(event, "gpg-agent") == 0)
		return add_agent(f, line, at);
	if (strncmp(event, "question", 8) == 0 || strncmp(event, "ask", 3) == 0)
		return keep(f, FACTS_QUESTIONS, at, event, text_of(line, "text"));
	if (strncmp(event, "limit", 5) == 0 || strcmp(event, "oom") == 0)
		return keep(f, FACTS_LIMITS, at, event, text_of(line, "text"));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(event, kinds[i].event) == 0)
			return keep(f, kinds[i].list, at, event,
				    kinds[i].member ? text_of(line, kinds[i].member) : NULL);
	return 0;
}

int facts_add(struct facts *f, const char *line, size_t n)
{
	struct json_document d = JSON_DOCUMENT_INIT;
	struct json_document *kept = NULL;
	const char *event;
	int64_t at;
	int r;

	f->lines++;
	r = json_read(line, n, 0, &d, NULL);
	event = r == 0 ? text_of(d.root, "event") : NULL;
	if (!event) {
		f->unreadable++;
		json_document_done(&d);
		return r == -ENOMEM ? r : 0;
	}
	at = time_of(d.root);
	if (at > 0 && f->first == 0)
		f->first = at;
	if (at > f->last)
		f->last = at;
	if (strcmp(event, "session.start") == 0)
		kept = &f->start;
	else if (strcmp(event, "session.exit") == 0 || strcmp(event, "session.start_failed") == 0)
		kept = &f->exit;
	r = kept ? 0 : add_event(f, d.root, event, at);
	if (kept) {
		json_document_done(kept);
		*kept = d;
	} else {
		json_document_done(&d);
	}
	return r;
}

void facts_done(struct facts *f)
{
	json_document_done(&f->start);
	json_document_done(&f->exit);
	for (size_t i = 0; i < FACTS_HOSTS; i++)
		free(f->hosts[i].name);
	for (size_t k = 0; k < FACTS_LIST_COUNT; k++) {
		for (size_t i = 0; i < f->lists[k].count; i++) {
			free(f->lists[k].items[i].what);
			free(f->lists[k].items[i].text);
		}
		free(f->lists[k].items);
	}
}
