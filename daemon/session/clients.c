#include "daemon/session/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

struct client {
	LIST_ENTRY(client) entry;
	struct clients *clients;
	struct attach *attach;
	bool dead;         /* removed with the next turn of the loop */
	bool hangs_up;     /* its leaving ends the session */
	bool input_closed; /* it has sent end of file */
	bool stale;        /* it watches, and did not read: it gets the screen when it has */
	bool owed_main;    /* it has seen the alternate screen alone */
	uint64_t since;    /* loop time at which it became stale */
};

LIST_HEAD(client_list, client);

struct clients {
	uv_timer_t sweep; /* removes the dead and tells of it, so that no handler is called from within a list's walk */
	struct client_list list;
	struct client *driver;
	unsigned n;
	unsigned told_n; /* by changed() */
	bool told_driven;
	bool exiting;
	const struct clients_handlers *handlers;
	void *data;
};

static bool is_driver(const struct client *client)
{
	return client->clients->driver == client;
}

static void changed(struct clients *c)
{
	if (c->exiting || (c->n == c->told_n && !!c->driver == c->told_driven))
		return;
	c->told_n = c->n;
	c->told_driven = c->driver != NULL;
	c->handlers->changed(c->data, c->n, c->driver != NULL);
}

static void remove_client(struct client *client)
{
	LIST_REMOVE(client, entry);
	client->clients->n--;
	attach_close(client->attach);
	free(client);
}

static void on_sweep(uv_timer_t *timer)
{
	struct clients *c = timer->data;
	struct client *client, *next;
	unsigned before = c->n;
	bool drove = false, hung_up = false;

	for (client = LIST_FIRST(&c->list); client; client = next) {
		next = LIST_NEXT(client, entry);
		if (!client->dead)
			continue;
		hung_up |= client->hangs_up;
		drove |= is_driver(client);
		if (is_driver(client))
			c->driver = NULL;
		remove_client(client);
	}
	if (c->n != before && !hung_up)
		changed(c);
	/* Each may end everything: at most one is called. */
	if (c->exiting && c->n == 0)
		c->handlers->ended(c->data);
	else if (hung_up && !c->exiting)
		c->handlers->hung_up(c->data);
	else if (drove)
		c->handlers->room(c->data);
}

static void bury(struct client *client)
{
	client->dead = true;
	uv_timer_start(&client->clients->sweep, on_sweep, 0, 0);
}

static void on_gone(void *data, bool complete)
{
	bury(data);
}

static bool on_takes_frame(void *data)
{
	const struct client *client = data;

	/* Those who watch are not waited for in what they send either: it is thrown away. */
	return !is_driver(client) || client->clients->handlers->takes_input(client->clients->data);
}

static int take_input(struct client *client, const struct stream_frame *f)
{
	struct clients *c = client->clients;

	if (client->input_closed)
		return -EBADMSG;
	client->input_closed = f->len == 0;
	return c->handlers->input(c->data, f->payload, f->len);
}

static int on_frame(void *data, const struct stream_frame *f)
{
	struct client *client = data;
	struct clients *c = client->clients;

	switch (f->type) {
	case STREAM_STDIN:
		return is_driver(client) ? take_input(client, f) : 0;
	case STREAM_RESIZE:
		if (is_driver(client))
			c->handlers->size(c->data, stream_u16(f->payload), stream_u16(f->payload + 2));
		return 0;
	case STREAM_SIGNAL:
		if (stream_u32(f->payload) == 0 || stream_u32(f->payload) > 64)
			return -EBADMSG;
		if (is_driver(client))
			c->handlers->signal(c->data, stream_u32(f->payload));
		return 0;
	case STREAM_CONTINUE:
		if (is_driver(client))
			c->handlers->resume(c->data);
		return 0;
	case STREAM_DETACH:
		client->hangs_up = false;
		attach_detached(client->attach, STREAM_DETACHED_ASKED);
		return 0;
	default:
		return -EBADMSG;
	}
}

static void show(struct client *client)
{
	struct clients *c = client->clients;

	client->owed_main = c->handlers->show(c->data, client->attach);
}

static void on_sent(void *data)
{
	struct client *client = data;
	struct clients *c = client->clients;

	if (client->stale && attach_waiting(client->attach) == 0) {
		client->stale = false;
		show(client);
		return;
	}
	if (is_driver(client) && attach_waiting(client->attach) < ATTACH_OUTPUT_MAX)
		c->handlers->room(c->data);
}

static const struct attach_handlers attach_handlers = {
	.frame = on_frame,
	.takes_frame = on_takes_frame,
	.sent = on_sent,
	.gone = on_gone,
};

/* One that is not let in is told why, if its socket takes that now. */
static int turn_away(int client, enum stream_detached reason)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(64);

	if (fd_set_nonblock(client, true) == 0 && stream_append_u32(&b, STREAM_DETACHED, reason) == 0)
		(void)fd_write_full(client, b.data, b.len);
	fd_close(client);
	return 0;
}

static void drive(struct client *client, uint16_t rows, uint16_t columns)
{
	struct clients *c = client->clients;
	struct client *before = c->driver;

	c->driver = client;
	if (before) {
		before->hangs_up = false;
		attach_tell(before->attach, STREAM_ROLE, STREAM_WATCHER, STREAM_ROLE_TAKEN);
	}
	c->handlers->size(c->data, rows, columns);
}

int clients_add(struct clients *c, int client_fd, unsigned flags, uint16_t rows, uint16_t columns)
{
	const bool watches = flags & SESSION_ATTACH_WATCH, stays = flags & SESSION_ATTACH_STAYS;
	struct client *client;
	int r;

	if (c->n >= LIMIT_ATTACHED)
		return turn_away(client_fd, STREAM_DETACHED_FULL);
	if (!watches && c->driver && !(flags & SESSION_ATTACH_TAKE))
		return turn_away(client_fd, STREAM_DETACHED_BUSY);
	client = calloc(1, sizeof(*client));
	if (!client)
		return -ENOMEM;
	client->clients = c;
	client->hangs_up = !stays;
	r = attach_open(c->sweep.loop, client_fd, &attach_handlers, client, &client->attach);
	if (r < 0) {
		free(client);
		return r;
	}
	LIST_INSERT_HEAD(&c->list, client, entry);
	c->n++;
	if (!watches)
		drive(client, rows, columns);
	if (stays) {
		attach_tell(client->attach, STREAM_ROLE, watches ? STREAM_WATCHER : STREAM_DRIVER, STREAM_ROLE_ASKED);
		show(client);
	}
	changed(c);
	return 0;
}

/* A watcher's queue is full: it gets nothing until it has read, and is let go where it does not. */
static void fall_behind(struct client *client)
{
	uint64_t now = uv_now(client->clients->sweep.loop);

	if (!client->stale) {
		client->stale = true;
		client->since = now;
	} else if (now - client->since > LIMIT_WATCHER_MS) {
		bury(client);
	}
}

void clients_output(struct clients *c, uint8_t type, const void *data, size_t n)
{
	struct client *client;

	LIST_FOREACH (client, &c->list, entry) {
		if (!is_driver(client) && (client->stale || attach_waiting(client->attach) >= ATTACH_OUTPUT_MAX))
			fall_behind(client);
		else
			attach_output(client->attach, type, data, n);
	}
}

void clients_main_screen(struct clients *c)
{
	struct client *client;

	LIST_FOREACH (client, &c->list, entry)
		if (client->owed_main && !client->stale)
			show(client);
}

void clients_tell_size(struct clients *c, uint16_t rows, uint16_t columns)
{
	struct client *client;

	LIST_FOREACH (client, &c->list, entry)
		if (!is_driver(client))
			attach_tell_size(client->attach, rows, columns);
}

void clients_tell_stopped(struct clients *c, uint32_t signal)
{
	if (c->driver)
		attach_stopped(c->driver->attach, signal);
}

void clients_tell_late(struct clients *c, const struct late_event *event)
{
	if (c->driver)
		attach_late(c->driver->attach, event);
}

void clients_exit(struct clients *c, uint32_t kind, uint32_t value)
{
	struct client *client;

	c->exiting = true;
	LIST_FOREACH (client, &c->list, entry)
		attach_exit(client->attach, kind, value);
	uv_timer_start(&c->sweep, on_sweep, 0, 0);
}

void clients_update(struct clients *c)
{
	if (c->driver)
		attach_update(c->driver->attach);
}

bool clients_are_behind(const struct clients *c)
{
	return c->driver && attach_waiting(c->driver->attach) >= ATTACH_OUTPUT_MAX;
}

unsigned clients_count(const struct clients *c)
{
	return c->n;
}

bool clients_have_driver(const struct clients *c)
{
	return c->driver != NULL;
}

struct clients *clients_new(uv_loop_t *loop, bool awaits_first, const struct clients_handlers *handlers, void *data)
{
	struct clients *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	LIST_INIT(&c->list);
	c->told_n = awaits_first;
	c->told_driven = awaits_first;
	uv_timer_init(loop, &c->sweep);
	c->sweep.data = c;
	c->handlers = handlers;
	c->data = data;
	return c;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void clients_close(struct clients *c)
{
	struct client *client;

	if (!c)
		return;
	c->driver = NULL;
	while ((client = LIST_FIRST(&c->list)))
		remove_client(client);
	uv_close((uv_handle_t *)&c->sweep, on_closed);
}
