#include "daemon/control/session_json.h"

#include <string.h>

#include "daemon/control/session.h"
#include "daemon/control/audit/timestamp.h"
#include "json/write.h"

static void write_end(const struct session *s, struct json_writer *w)
{
	char time[TIMESTAMP_SIZE];

	json_write_key(w, "ended");
	if (s->state != SESSION_ENDED) {
		json_write_null(w);
		json_write_key(w, "exit");
		json_write_null(w);
		return;
	}
	json_write_string(w, timestamp_format(s->ended, time));
	json_write_member_integer(w, "exit", session_exit_code(s->exit_kind, s->exit_value));
	if (s->exit_kind == EXIT_KIND_SIGNAL)
		json_write_member_integer(w, "signal", s->exit_value);
}

static void write_ports(const struct session *s, struct json_writer *w)
{
	json_write_key(w, "published");
	json_write_array(w);
	for (unsigned i = 0; i < s->n_ports && s->state != SESSION_ENDED; i++) {
		json_write_object(w);
		json_write_member_integer(w, "host", s->ports[i].host);
		json_write_member_integer(w, "inside", s->ports[i].inside);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}

void session_write(const struct session *s, struct json_writer *w)
{
	char time[TIMESTAMP_SIZE];

	json_write_object(w);
	json_write_member_string(w, "id", s->id);
	json_write_member_string(w, "name", s->name);
	json_write_member_string(w, "state", session_state_name(s->state));
	json_write_key(w, "argv");
	json_write_array(w);
	for (size_t i = 0; i < s->argv.count; i++)
		json_write_bytes(w, s->argv.items[i], strlen(s->argv.items[i]));
	json_write_array_end(w);
	json_write_key(w, "project");
	json_write_bytes(w, s->project ? s->project : "", s->project ? strlen(s->project) : 0);
	json_write_member_integer(w, "uid", s->uid);
	json_write_member_string(w, "started", timestamp_format(s->started, time));
	write_end(s, w);
	late_write_state(s, w);
	json_write_member_bool(w, "learning", s->has_policy && s->policy.egress.unlisted == EGRESS_UNLISTED_LEARN);
	grants_write_list(s, w);
	write_ports(s, w);
	json_write_member_integer(w, "clients", session_count_clients(s));
	json_write_member_bool(w, "driven", session_is_driven(s));
	json_write_member_bool(w, "attachable", session_is_attachable(s));
	json_write_object_end(w);
}

size_t session_write_size(const struct session *s)
{
	size_t n = 600 + 40 * s->n_ports + 6 * (s->project ? strlen(s->project) : 0) + 6 * s->late.lacking_bytes +
		   3 * s->late.lacking.count;

	for (size_t i = 0; i < s->argv.count; i++)
		n += 6 * strlen(s->argv.items[i]) + 3;
	return n + grants_list_size(&s->grants);
}
