#include "daemon/monitor/layer_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/monitor/layers.h"
#include "daemon/monitor/monitor.h"
#include "daemon/wire/control_wire.h"

/* What isod-session and pid 1 may take to end after the program: moments, on a machine that is busy. */
#define END_PATIENCE_MS 2000

/* Takes fd. */
static void answer(struct monitor *m, uint64_t connection, const struct error *e, int fd)
{
	struct control_message message = { .type = CONTROL_LAYER, .connection = connection, .error = *e };

	control_link_send(&m->control, &message, fd);
}

static int list(struct monitor *m, uid_t uid, struct error *e)
{
	static const struct layer_record none;
	_cleanup_free_ struct layer_record *records = NULL;
	size_t n = 0;
	int r = layers_list(&m->place, uid, &records, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct session *s = sessions_find(&m->sessions, records[i].id);

		records[i].running = s && !session_is_over(s);
	}
	/* A sealed file that is empty cannot be mapped: an empty list is one record without magic. */
	if (r == 0)
		r = fd_sealed_new("layers", n ? records : &none, (n ? n : 1) * sizeof(none));
	if (r < 0)
		error_set(e, ERROR_INTERNAL, -r, "layers", "", "The kept layers cannot be listed: %s.", strerror(-r));
	return r;
}

int layer_call_list(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	const struct peer *peer = peers_find(&m->peers, message->connection);
	struct error e = ERROR_INIT;

	if (!peer)
		return -EPROTO;
	answer(m, message->connection, &e, list(m, peer->uid, &e));
	return 0;
}

/* 0, or -errno with *e. A layer of somebody else does not exist. */
static int check_owner(struct monitor *m, const struct peer *peer, const char *id, struct error *e)
{
	struct layer_record record;

	if (layers_find(&m->place, id, peer->uid, &record) == 0)
		return 0;
	return error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "layer", "`isoctl diff --list` lists those there are.",
			 "No layer of such a session is kept.");
}

static int open_upper(struct monitor *m, const char *id, struct error *e)
{
	int fd = layers_open_upper(&m->place, id);

	return fd < 0 ? error_set(e, ERROR_INTERNAL, -fd, "layer", "", "The layer cannot be opened: %s.", strerror(-fd))
		      : fd;
}

/* ---- taking away ---- */

static void sweep(uv_work_t *work)
{
	const struct monitor *m = work->data;
	int r = layers_sweep(&m->place, false);

	if (r < 0)
		log_warning("a discarded layer stays: %s", strerror(-r));
}

static void begin_sweep(struct monitor *m);

static void on_swept(uv_work_t *work, int status)
{
	struct monitor *m = work->data;

	m->layers_sweeping = false;
	if (m->layers_again && !m->stopping)
		begin_sweep(m);
}

/* In a thread: a layer may hold a million files. What is left when isod ends goes at its next start. */
static void begin_sweep(struct monitor *m)
{
	m->layers_again = m->layers_sweeping;
	if (m->layers_sweeping)
		return;
	m->layers_work.data = m;
	m->layers_sweeping = uv_queue_work(&m->loop, &m->layers_work, sweep, on_swept) == 0;
}

static int discard(struct monitor *m, const char *id, struct error *e)
{
	int r = layers_hide(&m->place, id);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "layer", "", "The layer cannot be removed: %s.", strerror(-r));
	begin_sweep(m);
	return -1;
}

/* ---- a session that has not ended ---- */

struct layer_wait {
	LIST_ENTRY(layer_wait) link; /* session.layer_waits */
	struct monitor *monitor;
	uint64_t connection;
	uint64_t generation; /* of the control that asked */
	bool discards;
	char id[ISOD_ID_LEN + 4];
	uv_timer_t timer;
};

/* It is all over, or never was a session of this isod. */
static void serve(struct monitor *m, uint64_t connection, const char *id, bool discards)
{
	const struct peer *peer = peers_find(&m->peers, connection);
	struct error e = ERROR_INIT;
	int fd = -1;

	/* The client has gone while it waited. */
	if (!peer)
		return;
	if (check_owner(m, peer, id, &e) == 0)
		fd = discards ? discard(m, id, &e) : open_upper(m, id, &e);
	answer(m, connection, &e, fd < 0 ? -1 : fd);
}

static void on_wait_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void wait_end(struct layer_wait *w, bool over)
{
	struct error e = ERROR_INIT;

	LIST_REMOVE(w, link);
	if (w->generation == w->monitor->control.generation && over) {
		serve(w->monitor, w->connection, w->id, w->discards);
	} else if (w->generation == w->monitor->control.generation && peers_find(&w->monitor->peers, w->connection)) {
		error_set(&e, ERROR_REFUSED, EBUSY, "layer", "Wait for its end, or end it by `isoctl kill`.",
			  "The session has not ended.");
		answer(w->monitor, w->connection, &e, -1);
	}
	uv_close((uv_handle_t *)&w->timer, on_wait_closed);
}

static void on_patience_over(uv_timer_t *timer)
{
	wait_end(timer->data, false);
}

void layer_call_session_over(struct session *s)
{
	struct layer_wait *w;

	while ((w = LIST_FIRST(&s->layer_waits)))
		wait_end(w, true);
}

static void wait_for(struct session *s, const struct control_message *message, bool discards)
{
	struct monitor *m = s->monitor;
	struct layer_wait *w = calloc(1, sizeof(*w));
	struct error e = ERROR_INIT;

	if (!w) {
		error_set(&e, ERROR_INTERNAL, ENOMEM, "layer", "", "There is no memory left.");
		answer(m, message->connection, &e, -1);
		return;
	}
	w->monitor = m;
	w->connection = message->connection;
	w->generation = m->control.generation;
	w->discards = discards;
	memcpy(w->id, message->id, sizeof(w->id));
	uv_timer_init(&m->loop, &w->timer);
	w->timer.data = w;
	uv_timer_start(&w->timer, on_patience_over, END_PATIENCE_MS, 0);
	LIST_INSERT_HEAD(&s->layer_waits, w, link);
}

/* ended: only of a session that is over. */
static int call(struct monitor *m, const struct control_message *message, bool discards, bool ended)
{
	const struct peer *peer = peers_find(&m->peers, message->connection);
	struct session *s = ended ? sessions_find(&m->sessions, message->id) : NULL;
	struct error e = ERROR_INIT;

	if (!peer)
		return -EPROTO;
	if (s && !session_is_over(s) && check_owner(m, peer, message->id, &e) == 0)
		wait_for(s, message, discards);
	else
		serve(m, message->connection, message->id, discards);
	return 0;
}

int layer_call_open(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	if (message->flags & ~(uint32_t)CONTROL_LAYER_ENDED)
		return -EPROTO;
	return call(m, message, false, message->flags & CONTROL_LAYER_ENDED);
}

int layer_call_discard(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	return call(m, message, true, true);
}
