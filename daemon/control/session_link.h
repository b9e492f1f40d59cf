#ifndef ISOD_CONTROL_SESSION_LINK_H
#define ISOD_CONTROL_SESSION_LINK_H
/*
 * The channel to one isod-session (daemon/wire/session_wire.h). It has parsed what an agent sent, so nothing from it is
 * believed: sizes, enums and strings are checked, and a message that does not fit ends that session.
 */
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/exit_kind.h"

struct session;

struct session_link {
	struct session *session;
	int fd;
	uv_poll_t *poll; /* of its own memory: closed on its own time */
};

#define SESSION_LINK_INIT                                                                                              \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* Takes fd over, also on failure. */
int session_link_open(struct session_link *l, struct session *s, int fd);
/* Reads what is there without waiting. */
void session_link_drain(struct session_link *l);
void session_link_close(struct session_link *l);

/* Hands the client connection over for raw frames. 0 or -errno; the caller keeps its descriptor. */
int session_link_attach(struct session_link *l, int client_fd, uint16_t rows, uint16_t columns);
/* The same for a client that did not start it; flags: enum session_attach_flags. */
int session_link_attach_as(struct session_link *l, int client_fd, unsigned flags, uint16_t rows, uint16_t columns);
/* The pipes of a detached session's stdout and stderr. */
int session_link_outputs(struct session_link *l, const int fds[2]);
/* Rules that hold from now on, sealed; the caller keeps its descriptor. */
int session_link_rules(struct session_link *l, int fd, uint32_t generation);
int session_link_signal(struct session_link *l, int signal);
/* Says why the session is about to be killed, for the client of its terminal. No matter if it does not arrive: then the
 * helper says that the session was lost. */
/* A question of the session's: enum session_answer. 0 or -errno. */
int session_link_answer(struct session_link *l, uint32_t number, uint32_t answer);
void session_link_ending(struct session_link *l, enum exit_kind kind, int32_t value);

#endif
