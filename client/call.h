#ifndef ISOD_CLIENT_CALL_H
#define ISOD_CLIENT_CALL_H
/*
 * One method call from begin to its replies:
 *	w = call_begin(&c, "org.isod.List", 0); json_write_member_bool(w, "all", true);
 *	call_send(&c, client, &e); call_reply(&c, CALL_TIMEOUT_MS, &e); ... c.reply.parameters ...
 */
#include "client/command.h"
#include "client/connection.h"
#include "json/write.h"

/* Any call but a start or a stream is answered at once; a minute means that isod hangs. */
#define CALL_TIMEOUT_MS 60000

enum call_flags { CALL_MORE = 1 << 0, CALL_UPGRADE = 1 << 1 };

struct call {
	struct connection connection;
	struct buffer message;
	struct json_writer *writer;
	struct json_document document; /* of the last reply */
	struct varlink_reply reply;
};

#define CALL_INIT                                                                                                      \
	{                                                                                                              \
		.connection = CONNECTION_INIT, .message = BUFFER_INIT(LIMIT_MESSAGE), .document = JSON_DOCUMENT_INIT   \
	}

void call_done(struct call *c);
#define _cleanup_call_ __attribute__((cleanup(call_done)))

/* The writer stands inside "parameters"; it belongs to the call. NULL: no memory, reported by call_finish(). */
struct json_writer *call_begin(struct call *c, const char *method, unsigned flags);
/* Closes the message. -EMSGSIZE with a sentence of its own. */
int call_finish(struct call *c, struct error *e);
/* call_finish(), connect and send. */
int call_send(struct call *c, const struct client *client, struct error *e);
/* The next reply into .reply; an error reply fills *e and is -errno. */
int call_reply(struct call *c, int timeout_ms, struct error *e);

/* The member of the last reply that must be a string (array, object): NULL and *e filled where it is not. */
const struct json_value *call_member(const struct call *c, const char *name, enum json_type type, struct error *e);

#endif
