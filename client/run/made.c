#include "client/run/made.h"

#include <inttypes.h>
#include <string.h>

#include "client/escape.h"

void made_done(struct made *m)
{
	buffer_done(&m->planted);
	buffer_done(&m->runs);
	buffer_done(&m->lacking);
}

void made_add(struct made *m, bool is_protected, const char *path, size_t len)
{
	struct buffer *b = is_protected ? &m->planted : &m->runs;
	size_t before = b->len;

	if (buffer_append(b, path, len) == 0 && buffer_append(b, "", 1) == 0)
		return;
	b->len = before;
	m->more++;
}

void made_add_lacking(struct made *m, const char *text, size_t len)
{
	size_t before = m->lacking.len;

	if (buffer_append(&m->lacking, text, len) < 0 || buffer_append(&m->lacking, "", 1) < 0)
		m->lacking.len = before;
}

void made_add_reply(struct made *m, const struct json_value *reply)
{
	const struct json_value *made = json_get(reply, "made"), *more = json_get(reply, "madeMore");
	const struct json_value *lacking = json_get(json_get(reply, "session"), "lacking");

	for (size_t i = 0; made && made->type == JSON_ARRAY && i < made->array.count; i++) {
		const struct json_value *path = json_get(&made->array.items[i], "path");
		const struct json_value *kind = json_get(&made->array.items[i], "protected");

		if (path && path->type == JSON_STRING)
			made_add(m, kind && kind->type == JSON_BOOL && kind->boolean, path->string.data,
				 path->string.len);
	}
	for (size_t i = 0; lacking && lacking->type == JSON_ARRAY && i < lacking->array.count; i++)
		if (lacking->array.items[i].type == JSON_STRING)
			made_add_lacking(m, lacking->array.items[i].string.data, lacking->array.items[i].string.len);
	if (more && more->type == JSON_INTEGER && more->integer > 0)
		m->more += (uint64_t)more->integer;
}

/* A folder of which something inside is named need not be named itself. */
static bool is_above_another(const struct buffer *paths, const char *path)
{
	size_t len = strlen(path);

	for (const char *at = paths->data; at < paths->data + paths->len; at += strlen(at) + 1)
		if (strncmp(at, path, len) == 0 && at[len] == '/')
			return true;
	return false;
}

static int append_paths(struct buffer *out, const struct buffer *paths, const char *project)
{
	size_t len = strlen(project);
	int r = 0;

	for (const char *at = paths->data; r == 0 && at < paths->data + paths->len; at += strlen(at) + 1) {
		const char *shown = strncmp(at, project, len) == 0 && at[len] == '/' ? at + len + 1 : at;

		if (is_above_another(paths, at))
			continue;
		r = buffer_append_string(out, "isod:   ");
		if (r == 0)
			r = escape_append(out, shown, strlen(shown));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

static int append_group(struct buffer *out, const char *title, const struct buffer *paths, const char *project)
{
	int r = paths->len > 0 ? buffer_append_string(out, title) : 0;

	return r < 0 || paths->len == 0 ? r : append_paths(out, paths, project);
}

static int append_lacking(struct buffer *out, const struct buffer *lacking)
{
	int r = 0;

	for (const char *at = lacking->data; r == 0 && at < lacking->data + lacking->len; at += strlen(at) + 1) {
		r = buffer_append_string(out, "isod: ");
		if (r == 0)
			r = escape_append(out, at, strlen(at));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

int made_format(const struct made *m, const char *project, const char *session, struct buffer *out)
{
	int r = append_lacking(out, &m->lacking);

	if (r == 0)
		r = append_group(out, "isod: made during this run, and run later on the host:\n", &m->planted, project);
	if (r == 0)
		r = append_group(out,
				 "isod: made during this run; will run on the host when somebody calls it there:\n",
				 &m->runs, project);
	if (r == 0 && m->more > 0)
		r = buffer_printf(out, "isod: and %" PRIu64 " more made during this run: see isoctl log %s\n", m->more,
				  session);
	return r;
}
