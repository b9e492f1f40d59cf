#include <string.h>

#include "client/report/facts.h"

static void write_value(struct json_writer *w, const char *name, const struct json_value *v)
{
	json_write_key(w, name);
	if (v)
		json_write_value(w, v);
	else
		json_write_null(w);
}

static void write_text(struct json_writer *w, const char *name, const char *text)
{
	json_write_key(w, name);
	json_write_bytes(w, text, strlen(text));
}

static void write_host(struct json_writer *w, const struct facts_host *h)
{
	json_write_object(w);
	if (h->name)
		write_text(w, "host", h->name);
	json_write_member_integer(w, "allowed", (int64_t)h->allowed);
	json_write_member_integer(w, "denied", (int64_t)h->denied);
	json_write_member_integer(w, "bytesOut", (int64_t)h->out);
	json_write_member_integer(w, "bytesIn", (int64_t)h->in);
	json_write_object_end(w);
}

static void write_list(struct json_writer *w, const char *name, const struct facts_items *l)
{
	json_write_key(w, name);
	json_write_object(w);
	json_write_key(w, "items");
	json_write_array(w);
	for (size_t i = 0; i < l->count; i++) {
		json_write_object(w);
		json_write_member_integer(w, "at", l->items[i].at);
		write_text(w, "what", l->items[i].what);
		write_text(w, "text", l->items[i].text);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_member_integer(w, "more", (int64_t)l->more);
	json_write_object_end(w);
}

static void write_timeline(struct json_writer *w, const struct facts *f)
{
	json_write_key(w, "timeline");
	json_write_object(w);
	json_write_member_integer(w, "from", f->first);
	json_write_member_integer(w, "to", f->last);
	json_write_member_integer(w, "binMs", f->bin_ms);
	json_write_key(w, "bins");
	json_write_array(w);
	for (size_t i = 0; i < FACTS_BINS; i++) {
		json_write_array(w);
		json_write_integer(w, (int64_t)f->bins[i].allowed);
		json_write_integer(w, (int64_t)f->bins[i].denied);
		json_write_array_end(w);
	}
	json_write_array_end(w);
	json_write_object_end(w);
}

void facts_write(const struct facts *f, const struct json_value *session, const struct json_value *policy,
		 struct json_writer *w)
{
	json_write_object(w);
	write_value(w, "session", session);
	write_value(w, "policy", policy);
	write_value(w, "start", f->start.root);
	write_value(w, "exit", f->exit.root);
	json_write_key(w, "hosts");
	json_write_array(w);
	for (size_t i = 0; i < FACTS_HOSTS; i++)
		if (f->hosts[i].name)
			write_host(w, &f->hosts[i]);
	json_write_array_end(w);
	json_write_key(w, "otherHosts");
	write_host(w, &f->others);
	for (size_t k = 0; k < FACTS_LIST_COUNT; k++)
		write_list(w, facts_list_names[k], &f->lists[k]);
	write_timeline(w, f);
	json_write_member_integer(w, "lines", (int64_t)f->lines);
	json_write_member_integer(w, "unreadable", (int64_t)f->unreadable);
	json_write_object_end(w);
}
