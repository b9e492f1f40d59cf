#include "client/call.h"

#include <errno.h>

#include "base/cleanup.h"

void call_done(struct call *c)
{
	if (c->writer)
		(void)json_write_finish(take_ptr(c->writer));
	connection_done(&c->connection);
	buffer_done(&c->message);
	json_document_done(&c->document);
}

struct json_writer *call_begin(struct call *c, const char *method, unsigned flags)
{
	c->writer = varlink_call_begin(&c->message, method, flags & CALL_MORE, flags & CALL_UPGRADE);
	return c->writer;
}

int call_finish(struct call *c, struct error *e)
{
	int r = varlink_end(take_ptr(c->writer), &c->message);

	if (r == -EMSGSIZE)
		return error_set(e, ERROR_LIMIT, E2BIG, "request", "Pass less: files instead of arguments, say.",
				 "The arguments and variables together exceed %u MiB.", LIMIT_MESSAGE >> 20);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "request", "", "The request could not be written.");
	return 0;
}

int call_send(struct call *c, const struct client *client, struct error *e)
{
	int r = call_finish(c, e);

	if (r < 0)
		return r;
	r = connection_open(client->socket, &c->connection, e);
	if (r < 0)
		return r;
	return connection_send(&c->connection, &c->message, NULL, 0, e);
}

int call_reply(struct call *c, int timeout_ms, struct error *e)
{
	int r;

	json_document_done(&c->document);
	c->document = (struct json_document)JSON_DOCUMENT_INIT;
	r = connection_wait(&c->connection, timeout_ms, &c->document, &c->reply, e);
	if (r < 0)
		return r;
	return connection_check(&c->reply, e);
}

const struct json_value *call_member(const struct call *c, const char *name, enum json_type type, struct error *e)
{
	const struct json_value *v = json_get(c->reply.parameters, name);

	if (v && v->type == type)
		return v;
	error_set(e, ERROR_INTERNAL, EPROTO, "protocol", "Install isod and isoctl from one release.",
		  "isod's answer lacks \"%s\".", name);
	return NULL;
}
