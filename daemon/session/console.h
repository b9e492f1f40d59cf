#ifndef ISOD_SESSION_CONSOLE_H
#define ISOD_SESSION_CONSOLE_H
/*
 * Where a session's output goes, and its input comes from: a pty, or the pipes of a detached session, on one side, the
 * attached clients (clients.h) on the other. A session in the foreground without a terminal has none.
 */
#include <stdbool.h>
#include <uv.h>

#include "daemon/session/events.h"
#include "daemon/wire/late.h"

struct console;
struct record;

struct console_handlers {
	void (*signal)(void *data, uint32_t signal);
	void (*resume)(void *data);
	/* Every writer has closed, and all output was handed on. Once. */
	void (*drained)(void *data);
	/* The client of Run has left: the pty is closed already. */
	void (*hung_up)(void *data);
	/* After console_exit(): every client has had its last frame, or is gone. */
	void (*ended)(void *data);
	void (*changed)(void *data, unsigned clients, bool driven);
};

struct console_setup {
	bool has_pty;
	bool detached; /* no client will come by itself: output is taken from the start */
};

/* NULL: no memory. */
struct console *console_new(uv_loop_t *loop, const struct console_setup *setup, const struct console_handlers *handlers,
			    void *data);
/* The program's terminal hangs up; clients are closed. NULL is allowed. */
void console_close(struct console *c);

/* Takes master over on success; what passes is recorded in record, which is not owned (NULL: nowhere). 0 or -errno. */
int console_set_pty(struct console *c, int master, struct record *record);
/* The reading end of the pipe that is stdout or stderr, once each: taken over on success. */
int console_add_pipe(struct console *c, int fd, bool is_stderr);
/* clients_add() */
int console_attach(struct console *c, int client, unsigned flags, uint16_t rows, uint16_t columns);

void console_stopped(struct console *c, uint32_t signal);
void console_late(struct console *c, const struct late_event *event);
/* Ends all clients; ended() follows. */
void console_exit(struct console *c, uint32_t kind, uint32_t value);
/* Whether somebody is waited for before the end: the client of Run that is on its way, one that drives, output that is
 * still to come. */
bool console_is_awaited(const struct console *c);
bool console_is_drained(const struct console *c);
/* True where output waits for the client that drives, not it for output. */
bool console_is_behind(const struct console *c);
/* Bytes of output so far: progress. */
uint64_t console_total(const struct console *c);
/* What is to be seen now goes to isod-control, where nobody has seen it. */
void console_tell_last(const struct console *c, struct events *events);

#endif
