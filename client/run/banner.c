#include "client/run/banner.h"

#include <string.h>

#include "base/cleanup.h"
#include "client/escape.h"
#include "policy/environment.h"

#define NAMES_SHOWN 4

static int append_text(struct buffer *out, const struct json_value *v)
{
	if (!v || v->type != JSON_STRING)
		return buffer_append_string(out, "?");
	return escape_append(out, v->string.data, v->string.len);
}

static size_t count_of(const struct json_value *v)
{
	return v && v->type == JSON_ARRAY ? v->array.count : 0;
}

static int append_network(struct buffer *out, const struct json_value *network)
{
	size_t n = count_of(network);
	int r;

	if (!network || network->type != JSON_ARRAY)
		return 0;
	r = buffer_append_string(out, n ? " · network: " : " · network: none");
	for (size_t i = 0; r == 0 && i < n && i < NAMES_SHOWN; i++) {
		r = buffer_append_string(out, i ? ", " : "");
		if (r == 0)
			r = append_text(out, &network->array.items[i]);
	}
	if (r == 0 && n > 0)
		r = buffer_printf(out, "%s (%zu rule%s)", n > NAMES_SHOWN ? ", …" : "", n, n > 1 ? "s" : "");
	return r;
}

/* Every variable that passed because somebody named it. */
static int append_variables(struct buffer *out, const struct run_environment *environment)
{
	const char *separator = " · variables: ";
	int r = 0;

	for (size_t i = 0; r == 0 && i < environment->n_variables; i++) {
		const char *name = environment->variables[i].name;

		if (environment_passes(name))
			continue;
		r = buffer_printf(out, "%s%s%s", separator, name, environment_is_injection(name) ? " (runs code)" : "");
		separator = ", ";
	}
	return r;
}

static size_t count_notes(const struct buffer *notes)
{
	size_t n = 0;

	for (size_t i = 0; i < notes->len; i++)
		n += notes->data[i] == '\0';
	return n;
}

static int append_note(struct buffer *out, const char *text, size_t len)
{
	int r = buffer_append_string(out, "isod: note: ");

	if (r == 0)
		r = escape_append(out, text, len);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

int banner_format(const struct json_value *started, const struct run_environment *environment, struct buffer *out)
{
	const struct json_value *session = json_get(started, "session"), *notes = json_get(started, "notes");
	size_t n_notes = count_of(notes) + count_notes(&environment->notes);
	int r = buffer_append_string(out, "isod: session ");

	if (r == 0)
		r = append_text(out, json_get(session, "id"));
	if (r == 0)
		r = buffer_append_string(out, " in ");
	if (r == 0)
		r = append_text(out, json_get(session, "project"));
	if (r == 0)
		r = append_network(out, json_get(started, "network"));
	if (r == 0)
		r = append_variables(out, environment);
	if (r == 0 && n_notes > 0)
		r = buffer_printf(out, " · %zu note%s", n_notes, n_notes > 1 ? "s" : "");
	if (r == 0)
		r = buffer_append_string(out, "\n");
	for (size_t i = 0; r == 0 && i < count_of(notes); i++)
		if (notes->array.items[i].type == JSON_STRING)
			r = append_note(out, notes->array.items[i].string.data, notes->array.items[i].string.len);
	for (const char *at = environment->notes.data; r == 0 && at < environment->notes.data + environment->notes.len;
	     at += strlen(at) + 1)
		r = append_note(out, at, strlen(at));
	return r;
}
