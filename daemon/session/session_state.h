#ifndef ISOD_SESSION_STATE_H
#define ISOD_SESSION_STATE_H
/* The session, for the files that serve it: session.c, session_pid1.c, session_record.c. */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/session/console.h"
#include "daemon/session/control.h"
#include "daemon/session/dns/names.h"
#include "daemon/session/link.h"
#include "daemon/session/network.h"
#include "daemon/session/record.h"
#include "daemon/session/session.h"

/*
 * RUNNING   the program runs, or is about to. Everything may come.
 * EXITED    how it ended is known (.kind, .value). Output is still handed to clients; nothing new is asked of pid 1.
 * DRAINING  what the program has sent into the network goes out; nothing else is waited for.
 * FLUSHING  console, link and gateway are closed; only events go out.
 * CLOSED    every handle is closing; the loop runs out.
 */
enum session_state { RUNNING, EXITED, DRAINING, FLUSHING, CLOSED };

struct session {
	enum session_state state;
	const struct session_setup *setup;
	uv_loop_t loop;
	uv_timer_t timer;
	struct control *control;
	struct link *link;
	struct names *names;
	struct network network;
	struct console *console; /* NULL: it has none */
	struct ssh_agent *ssh;
	struct gpg_agent *gpg;
	struct record *record; /* NULL: none */
	bool told_exit;        /* the clients are told, or about to be */
	bool seen;             /* the end, by a client that drove */
	uint64_t total;        /* console_total() when the timer was last started */
	uint32_t kind;         /* enum exit_kind */
	int32_t value;
	uint32_t ending_kind; /* why isod-control ends the session, if it said so */
	int32_t ending_value;
	bool end_marked;   /* in the recording */
	bool end_recorded; /* it was given time for that, so the client can be told */
	bool end_told;     /* to isod-control */
};

/* How the program ended; counts once. */
void session_exited(struct session *s, uint32_t kind, int32_t value);
/* The session ends now, whatever waits. */
void session_finish(struct session *s);

/* What pid 1 says; data is the session. */
extern const struct link_handlers session_pid1;

/* Where a recording is wanted. 0 or -errno; after control_open(). */
int session_record_open(struct session *s);
void session_record_close(struct session *s);
/* Marks the end in it; then() is called when that is on its disk, or has waited long enough. At once without one. */
void session_record_end(struct session *s, void (*then)(void *data));

#endif
