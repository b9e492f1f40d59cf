#ifndef ISOD_CONTROL_CONNECTION_H
#define ISOD_CONTROL_CONNECTION_H
/* One client: bytes and descriptors in, one call at a time, bytes out. Who it is comes from isod alone. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/limits.h"
#include "daemon/control/method/layer_call.h"

struct control;
struct exec;
struct json_writer;
struct log_reader;
struct log_verify;
struct session;

/*
 *            fd    reads                 timer                    leaves by
 *   IDLE     ours  messages, unless the  a message has begun      call that answers later -> BUSY; bad message or end
 *                  client does not read                            of file -> CLOSING
 *   BUSY     ours  nothing; a hang-up    -                         answer complete -> IDLE; handed over -> LENT;
 *                  is seen                                         hang-up -> DEAD (its session is ended)
 *   LENT     isod-session's              -                         end of the session -> DEAD
 *   CLOSING  ours  nothing               the client must read      all written, or time over -> DEAD
 *   DEAD     -     -                     -                         freed with its last handle
 */
enum connection_state {
	CONNECTION_IDLE,
	CONNECTION_BUSY,
	CONNECTION_LENT,
	CONNECTION_CLOSING,
	CONNECTION_DEAD,
};

struct connection {
	LIST_ENTRY(connection) entry; /* control.connections */
	struct control *control;
	enum connection_state state;
	uint64_t number; /* isod's */
	uint32_t uid, gid;
	int32_t pid;
	int fd;
	uv_poll_t poll;
	uv_timer_t timer;
	unsigned handles; /* of libuv, not yet closed */

	struct buffer in;
	size_t seen;                /* bytes of in known to hold no NUL */
	int fds[LIMIT_MESSAGE_FDS]; /* came with the message that begins at fds_at */
	size_t n_fds;
	size_t fds_at;
	bool resume; /* the timer is set to go on with what is in `in` */

	struct buffer out;
	size_t out_at;     /* written up to here */
	size_t reply_mark; /* begin of the reply being made */
	bool oneway;       /* of the call being answered: no reply is sent */
	int reply_fd;      /* travels with the byte at reply_fd_at of out; -1 */
	size_t reply_fd_at;
	bool lend; /* once all is written, isod-session gets the descriptor */
	struct {
		char id[ISOD_ID_LEN + 1]; /* of a session that it did not start; "" = its own */
		unsigned flags;           /* enum session_attach_flags */
		uint16_t rows, columns;
	} lend_to;
	bool waits; /* in session.waiters */
	LIST_ENTRY(connection) waiter;

	struct session *session;    /* that it started and waits for */
	struct exec *exec;          /* its Exec call */
	struct log_reader *reader;  /* its Log call */
	struct log_verify *verify;  /* its LogVerify call */
	enum layer_call layer_call; /* that isod has been asked for it */
};

LIST_HEAD(connections, connection);

/* Takes fd over, also on failure. 0 or -errno. */
int connection_new(struct control *control, uint64_t number, uint32_t uid, uint32_t gid, int32_t pid, int fd);
/* Closes it now; its session is ended. Frees the object later. */
void connection_drop(struct connection *c);
/* Sends what is queued, then closes. */
void connection_close_after_reply(struct connection *c);

/* The answer comes later. */
void connection_set_busy(struct connection *c);
/* The answer is complete: goes on with the next call. */
void connection_call_done(struct connection *c);
/* After what is queued, the descriptor goes to the session's helper. */
void connection_lend(struct connection *c);
/* The same to a session that it did not start, and that does not depend on it; then it is forgotten here. */
void connection_lend_to(struct connection *c, const struct session *s, unsigned flags, uint16_t rows, uint16_t columns);

/* Replies. The writer is inside of "parameters"; NULL without memory, which connection_reply_end() takes. A client that
 * does not read what it asked for is dropped. */
struct json_writer *connection_reply_begin(struct connection *c, bool continues);
/* A reply larger than LIMIT_MESSAGE, which no client has to take, goes out as the error LimitExceeded. */
void connection_reply_end(struct connection *c, struct json_writer *w);
/* Inside of a reply: does a value of at most so many bytes still fit, and what ends the message after it? */
bool connection_reply_has_room(const struct connection *c, size_t bytes);
void connection_reply_error(struct connection *c, const struct error *e);
void connection_reply_service_error(struct connection *c, const char *name, const char *member, const char *value);
/* The next reply brings fd, which is taken. */
void connection_reply_descriptor(struct connection *c, int fd);
/* log_reader_pump() is called once the others have had their turn. */
void connection_read_on(struct connection *c);
/* The client is slow: wait for the next call of log_reader_pump() before making more. */
bool connection_is_full(const struct connection *c);

#endif
