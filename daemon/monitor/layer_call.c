#include "daemon/monitor/layer_call.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/monitor/layers.h"
#include "daemon/monitor/monitor.h"
#include "daemon/wire/control_wire.h"

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

	for (size_t i = 0; r == 0 && i < n; i++)
		records[i].running = sessions_find(&m->sessions, records[i].id) != NULL;
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
static int check(struct monitor *m, const struct peer *peer, const char *id, bool ended, struct error *e)
{
	struct layer_record record;

	if (layers_find(&m->place, id, peer->uid, &record) < 0)
		return error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "layer",
				 "`isoctl diff --list` lists those there are.", "No layer of such a session is kept.");
	if (ended && sessions_find(&m->sessions, id))
		return error_set(e, ERROR_REFUSED, EBUSY, "layer", "Wait for its end, or end it by `isoctl kill`.",
				 "The session has not ended.");
	return 0;
}

int layer_call_open(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	const struct peer *peer = peers_find(&m->peers, message->connection);
	struct error e = ERROR_INIT;
	int fd = -1;

	if (!peer || message->flags & ~(uint32_t)CONTROL_LAYER_ENDED)
		return -EPROTO;
	if (check(m, peer, message->id, message->flags & CONTROL_LAYER_ENDED, &e) == 0) {
		fd = layers_open_upper(&m->place, message->id);
		if (fd < 0)
			error_set(&e, ERROR_INTERNAL, -fd, "layer", "", "The layer cannot be opened: %s.",
				  strerror(-fd));
	}
	answer(m, message->connection, &e, fd);
	return 0;
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

int layer_call_discard(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	const struct peer *peer = peers_find(&m->peers, message->connection);
	struct error e = ERROR_INIT;
	int r;

	if (!peer)
		return -EPROTO;
	r = check(m, peer, message->id, true, &e);
	if (r == 0) {
		r = layers_hide(&m->place, message->id);
		if (r < 0)
			error_set(&e, ERROR_INTERNAL, -r, "layer", "", "The layer cannot be removed: %s.",
				  strerror(-r));
	}
	if (r == 0)
		begin_sweep(m);
	answer(m, message->connection, &e, -1);
	return 0;
}
