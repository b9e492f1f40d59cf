#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/method/layer_call.h"
#include "daemon/control/session.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/wire/layer.h"
#include "json/write.h"
#include "proto/schema.h"

/* Root's list is everybody's. */
#define LIST_MAX ((size_t)LIMIT_CONNECTIONS * LIMIT_LAYERS_PER_UID * sizeof(struct layer_record))
#define NS_PER_MS 1000000

static int ask(struct connection *c, enum layer_call call, const struct control_message *message, struct error *e)
{
	int r = monitor_send(&c->control->monitor, message, NULL, 0);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "layer", NULL, "isod could not be asked.");
	c->layer_call = call;
	connection_set_busy(c);
	return 0;
}

int method_layers(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	return ask(c, LAYER_CALL_LIST, &(struct control_message){ .type = CONTROL_LAYER_LIST, .connection = c->number },
		   e);
}

/* By id alone: a name may be another session's by now. */
static int ask_about(struct connection *c, enum layer_call call, struct control_message *message, const char *id,
		     struct error *e)
{
	if (!registry_id_is_valid(id))
		return error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "session", NULL, "A layer is named by its id.");
	message->connection = c->number;
	memcpy(message->id, id, ISOD_ID_LEN);
	return ask(c, call, message, e);
}

int method_layer(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct layer_parameters *p = parameters;
	struct control_message message = { .type = CONTROL_LAYER_OPEN, .flags = p->ended ? CONTROL_LAYER_ENDED : 0 };

	return ask_about(c, LAYER_CALL_OPEN, &message, p->session, e);
}

int method_discard(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct discard_parameters *p = parameters;
	struct control_message message = { .type = CONTROL_LAYER_DISCARD };

	return ask_about(c, LAYER_CALL_DISCARD, &message, p->session, e);
}

/* ---- the answer ---- */

static void write_record(struct control *control, const struct layer_record *record, struct json_writer *w)
{
	const struct session *s = registry_find(&control->registry, 0, record->id, NULL);
	char time[TIMESTAMP_SIZE];

	json_write_object(w);
	json_write_member_string(w, "session", record->id);
	json_write_member_string(w, "name", s ? s->name : "");
	json_write_member_integer(w, "uid", record->uid);
	json_write_key(w, "project");
	json_write_bytes(w, record->project, strlen(record->project));
	json_write_member_string(w, "started", timestamp_format(record->started_ns / NS_PER_MS, time));
	json_write_member_integer(w, "startedNanoseconds", record->started_ns);
	json_write_member_bool(w, "running", record->running);
	json_write_object_end(w);
}

static int reply_list(struct connection *c, int fd)
{
	const struct layer_record *records;
	struct json_writer *w;
	const void *data;
	size_t len, more = 0;
	int r = fd_sealed_map(fd, LIST_MAX, &data, &len);

	if (r < 0)
		return r;
	records = data;
	w = connection_reply_begin(c, false);
	json_write_key(w, "layers");
	json_write_array(w);
	for (size_t i = 0; i < len / sizeof(*records) && records[i].magic == LAYER_MAGIC; i++) {
		if (connection_reply_has_room(c, 512 + 6 * strnlen(records[i].project, LIMIT_PATH)))
			write_record(c->control, &records[i], w);
		else
			more++;
	}
	json_write_array_end(w);
	json_write_member_integer(w, "more", (int64_t)more);
	munmap((void *)data, len);
	connection_reply_end(c, w);
	return 0;
}

static int reply(struct connection *c, enum layer_call call, int fd)
{
	if (call == LAYER_CALL_LIST)
		return reply_list(c, fd);
	if (call == LAYER_CALL_OPEN)
		connection_reply_descriptor(c, fd);
	connection_reply_end(c, connection_reply_begin(c, false));
	return 0;
}

int layer_call_answered(struct control *control, const struct control_message *m, int *fds, size_t n_fds)
{
	_cleanup_close_ int fd = n_fds == 1 ? take_fd(&fds[0]) : -1;
	struct error e = m->error;
	struct connection *c;
	enum layer_call call;

	error_sanitise(&e);
	LIST_FOREACH (c, &control->connections, entry)
		if (c->number == m->connection)
			break;
	/* The client may have gone meanwhile. */
	if (!c)
		return 0;
	call = c->layer_call;
	c->layer_call = LAYER_CALL_NONE;
	if (call == LAYER_CALL_NONE || n_fds > 1 || (e.code == ERROR_NONE && (fd >= 0) != (call != LAYER_CALL_DISCARD)))
		return -EBADMSG;
	if (e.code == ERROR_NONE && reply(c, call, call == LAYER_CALL_OPEN ? take_fd(&fd) : fd) < 0)
		error_set(&e, ERROR_INTERNAL, EBADMSG, "layer", NULL, "The list of isod cannot be read.");
	if (e.code != ERROR_NONE)
		connection_reply_error(c, &e);
	connection_call_done(c);
	return 0;
}
