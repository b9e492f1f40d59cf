#include "daemon/control/keep.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/control.h"
#include "daemon/control/session.h"
#include "json/write.h"

static void write_bytes_or_null(struct json_writer *w, const char *name, const char *text)
{
	json_write_key(w, name);
	if (text)
		json_write_bytes(w, text, strlen(text));
	else
		json_write_null(w);
}

static void write_list(struct json_writer *w, const char *name, const struct string_list *list)
{
	json_write_key(w, name);
	json_write_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_write_bytes(w, list->items[i], strlen(list->items[i]));
	json_write_array_end(w);
}

static void write_texts(struct json_writer *w, const char *name, const struct reload_texts *texts)
{
	json_write_key(w, name);
	json_write_object(w);
	write_bytes_or_null(w, "administrator", texts->administrator);
	json_write_key(w, "layers");
	json_write_array(w);
	for (size_t i = 0; i < texts->n_layers; i++) {
		const struct schema_policy *layer = &texts->layers[i];

		json_write_object(w);
		json_write_member_string(w, "layer", layer->layer);
		write_bytes_or_null(w, "path", layer->path);
		json_write_member_string(w, "text", layer->text);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_object_end(w);
}

static void write_grants(struct json_writer *w, const struct grants *g)
{
	json_write_key(w, "grants");
	json_write_array(w);
	for (size_t i = 0; i < g->count; i++) {
		json_write_object(w);
		json_write_member_string(w, "host", g->items[i].host);
		json_write_member_integer(w, "until", (int64_t)g->items[i].until);
		json_write_member_integer(w, "once", g->items[i].once);
		json_write_member_bool(w, "used", g->items[i].used);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_member_integer(w, "lastOnce", g->last_once);
}

static void write_ports(struct json_writer *w, const struct session *s)
{
	json_write_key(w, "ports");
	json_write_array(w);
	for (unsigned i = 0; i < s->n_ports; i++) {
		json_write_object(w);
		json_write_member_integer(w, "host", s->ports[i].host);
		json_write_member_integer(w, "inside", s->ports[i].inside);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}

static void write_exit(struct json_writer *w, const struct session *s)
{
	if (s->state != SESSION_ENDED)
		return;
	json_write_key(w, "exit");
	json_write_object(w);
	json_write_member_integer(w, "kind", s->exit_kind);
	json_write_member_integer(w, "value", s->exit_value);
	json_write_member_integer(w, "ended", s->ended);
	json_write_object_end(w);
}

static void write_late(struct json_writer *w, const struct session_late *late)
{
	write_list(w, "lacking", &late->lacking);
	write_list(w, "planted", &late->planted);
	write_list(w, "runs", &late->runs);
	json_write_member_integer(w, "lateWay", late->way);
	json_write_member_integer(w, "lateReason", late->reason);
	json_write_member_integer(w, "lateMore", (int64_t)(late->more & INT64_MAX));
}

static int write_state(const struct session *s, const struct reload_texts *next, struct buffer *out)
{
	const struct reload *r = &s->reload;
	struct json_writer *w = json_write_new(out);

	json_write_object(w);
	json_write_member_integer(w, "version", KEEP_VERSION);
	json_write_member_string(w, "id", s->id);
	json_write_member_string(w, "name", s->name);
	json_write_member_string(w, "digest", s->digest);
	write_bytes_or_null(w, "project", s->project);
	write_bytes_or_null(w, "cwd", s->cwd);
	write_list(w, "argv", &s->argv);
	write_list(w, "notes", &s->notes);
	json_write_member_integer(w, "started", s->started);
	write_late(w, &s->late);
	json_write_member_bool(w, "terminal", s->terminal);
	json_write_member_bool(w, "detached", s->detached);
	json_write_member_integer(w, "rows", s->rows);
	json_write_member_integer(w, "columns", s->columns);
	json_write_member_integer(w, "generation", r->generation + (next ? 1 : 0));
	json_write_member_integer(w, "unlisted", s->policy.egress.unlisted);
	write_texts(w, "texts", next ? next : &r->texts);
	if (r->generation > 0 || next)
		write_texts(w, "first", r->generation > 0 ? &r->first : &r->texts);
	write_grants(w, &s->grants);
	write_ports(w, s);
	write_exit(w, s);
	json_write_object_end(w);
	return json_write_finish(w);
}

static int send_state(struct session *s, const struct reload_texts *next)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(LIMIT_KEPT);
	_cleanup_close_ int state = -1;
	struct control_message m = { .type = CONTROL_KEEP };
	int fds[2], r = write_state(s, next, &text);

	if (r < 0)
		return r;
	state = fd_sealed_new("session", text.data, text.len);
	if (state < 0)
		return state;
	memcpy(m.id, s->id, ISOD_ID_LEN);
	fds[0] = state;
	fds[1] = s->client ? s->client->fd : -1;
	return monitor_send(&s->control->monitor, &m, fds, fds[1] >= 0 ? 2 : 1);
}

void keep_send_next(struct session *s, const struct reload_texts *texts)
{
	int r;

	/* On its way to its end; or isod has nothing left of it to keep. */
	if (s->gone || s->state == SESSION_STARTING)
		return;
	r = send_state(s, texts);
	if (r < 0)
		log_warning("session %s cannot be kept, should isod-control die: %s", s->id, strerror(-r));
	else
		s->kept = true;
}

void keep_send(struct session *s)
{
	keep_send_next(s, NULL);
}
