#include "client/run/signal_link.h"

#include "json/write.h"

int signal_link_send(struct signal_link *l, const struct client *client, const char *session, int64_t exec, int signal,
		     struct error *e)
{
	_cleanup_buffer_ struct buffer message = BUFFER_INIT(LIMIT_MESSAGE);
	struct json_writer *w = varlink_call_begin(&message, "org.isod.Kill", false, false);
	int r;

	json_write_member_string(w, "session", session);
	json_write_member_integer(w, "signal", signal);
	if (exec > 0)
		json_write_member_integer(w, "exec", exec);
	r = varlink_end(w, &message);
	if (r == 0 && l->connection.fd < 0)
		r = connection_open(client->socket, &l->connection, e);
	if (r == 0)
		r = connection_send(&l->connection, &message, NULL, 0, e);
	if (r < 0)
		signal_link_done(l);
	return r;
}

void signal_link_read(struct signal_link *l)
{
	if (connection_fill(&l->connection) <= 0)
		signal_link_done(l);
	else
		buffer_consume(&l->connection.in, l->connection.in.len);
}

void signal_link_done(struct signal_link *l)
{
	connection_done(&l->connection);
}
