#ifndef ISOD_SESSION_CLIENTS_H
#define ISOD_SESSION_CLIENTS_H
/*
 * Everybody who is attached to a session. One of them may drive (input, size, signals) and is waited for where it does
 * not read; the others watch, and what they do not read is left out until they get a whole screen again. The client of
 * a Run in the foreground hangs the session up by leaving, unless it says DETACH or another has taken its place.
 */
#include <stdbool.h>
#include <uv.h>

#include "daemon/session/attach.h"
#include "daemon/wire/session_wire.h"

struct clients;

struct clients_handlers {
	/* Of the driver. n 0: end of file. Negative: it has broken the protocol. */
	int (*input)(void *data, const void *bytes, size_t n);
	bool (*takes_input)(void *data);
	/* 0, 0: the size stays. */
	void (*size)(void *data, uint16_t rows, uint16_t columns);
	void (*signal)(void *data, uint32_t signal);
	void (*resume)(void *data);
	/* More output may be handed out: the driver has read, or another or nobody drives now. */
	void (*room)(void *data);
	/* a is new here, or has missed output: give it by attach_output() all there is to see. True: call again once
	 * the main screen is shown (it is behind the alternate one). */
	bool (*show)(void *data, struct attach *a);
	/* The client by which the session hangs is gone. */
	void (*hung_up)(void *data);
	/* The last client is gone, after clients_exit(). */
	void (*ended)(void *data);
	/* How many there are, and whether one drives. The client of Run alone is no news. */
	void (*changed)(void *data, unsigned n, bool driven);
};

/* awaits_first: the client of Run will come. NULL: no memory. */
struct clients *clients_new(uv_loop_t *loop, bool awaits_first, const struct clients_handlers *handlers, void *data);
/* Closes all; freed once the handles are closed. NULL is allowed. */
void clients_close(struct clients *c);

/* flags: enum session_attach_flags. Takes client over only on success; one that is turned away is told. */
int clients_add(struct clients *c, int client, unsigned flags, uint16_t rows, uint16_t columns);

/* To all of them, at most LIMIT_FRAME bytes. */
void clients_output(struct clients *c, uint8_t type, const void *data, size_t n);
/* The alternate screen was left: those who have not seen what was behind it are shown. */
void clients_main_screen(struct clients *c);
void clients_tell_size(struct clients *c, uint16_t rows, uint16_t columns);
void clients_tell_stopped(struct clients *c, uint32_t signal);
void clients_tell_late(struct clients *c, const struct late_event *event);
void clients_exit(struct clients *c, uint32_t kind, uint32_t value);
/* The driver may be given input again, or has become able to. */
void clients_update(struct clients *c);

/* True where output waits for the driver, not it for output. */
bool clients_are_behind(const struct clients *c);
unsigned clients_count(const struct clients *c);
bool clients_have_driver(const struct clients *c);

#endif
