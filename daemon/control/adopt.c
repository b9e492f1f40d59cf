#include "daemon/control/adopt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/control/control.h"
#include "daemon/control/keep.h"
#include "daemon/control/method/run_reply.h"
#include "daemon/control/session.h"
#include "json/value.h"

/* Descriptors of CONTROL_ADOPT. */
enum { AT_LINK, AT_STATE, AT_CLIENT };

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "adopt", NULL, "There is no memory left.");
}

static int take_list(const struct json_strings *from, struct string_list *to)
{
	for (size_t i = 0; i < from->count; i++)
		if (!string_list_add(to, from->items[i]))
			return -ENOMEM;
	return 0;
}

static int take_late(struct session_late *late, const struct keep_state *k)
{
	late->way = (uint32_t)k->late_way;
	late->reason = (uint32_t)k->late_reason;
	late->more = (uint64_t)k->late_more;
	for (size_t i = 0; i < k->lacking.count; i++)
		late_add_lacking(late, k->lacking.items[i]);
	for (size_t i = 0; i < k->planted.count; i++)
		late->bytes += strlen(k->planted.items[i]);
	for (size_t i = 0; i < k->runs.count; i++)
		late->bytes += strlen(k->runs.items[i]);
	if (take_list(&k->planted, &late->planted) < 0)
		return -ENOMEM;
	return take_list(&k->runs, &late->runs);
}

static int take_grants(struct grants *g, const struct keep_state *k)
{
	const struct keep_grant *kept = k->grants.items;

	g->last_once = (uint32_t)k->last_once;
	if (k->grants.count == 0)
		return 0;
	g->items = calloc(LIMIT_GRANTS, sizeof(*g->items));
	if (!g->items)
		return -ENOMEM;
	for (size_t i = 0; i < k->grants.count; i++) {
		struct grant *to = &g->items[g->count++];

		strncpy(to->host, kept[i].host, sizeof(to->host) - 1);
		to->until = (uint64_t)kept[i].until;
		to->once = (uint32_t)kept[i].once;
		to->used = kept[i].used;
	}
	return 0;
}

/* What does not concern the policy. */
static int describe(struct session *s, const struct keep_state *k)
{
	const struct keep_port *ports = k->ports.items;

	strncpy(s->name, k->name, sizeof(s->name) - 1);
	s->project = strdup(k->project ? k->project : "");
	s->cwd = strdup(k->cwd ? k->cwd : "/");
	s->started = k->started;
	s->terminal = k->terminal;
	s->detached = k->detached;
	s->rows = (uint16_t)k->rows;
	s->columns = (uint16_t)k->columns;
	for (size_t i = 0; i < k->ports.count; i++) {
		s->ports[s->n_ports].host = (uint16_t)ports[i].host;
		s->ports[s->n_ports++].inside = (uint16_t)ports[i].inside;
	}
	if (k->has_exit) {
		s->state = SESSION_ENDED;
		s->exit_kind = (enum exit_kind)k->exit.kind;
		s->exit_value = (int32_t)k->exit.value;
		s->ended = k->exit.ended;
	}
	if (!s->project || !s->cwd || take_list(&k->argv, &s->argv) < 0 || take_list(&k->notes, &s->notes) < 0)
		return -ENOMEM;
	return take_late(&s->late, k);
}

static int take_policy(struct session *s, const struct keep_state *k, struct error *e)
{
	s->reload.generation = (uint32_t)k->generation;
	if (reload_keep(&s->reload.texts, k->texts.administrator, &k->texts.layers) < 0 ||
	    reload_keep(&s->reload.first, k->first.administrator, &k->first.layers) < 0 ||
	    take_grants(&s->grants, k) < 0)
		return no_memory(e);
	return reload_restore(s, (uint32_t)k->unlisted, k->digest, e);
}

static int restore(struct session *s, int state_fd, struct error *e)
{
	_cleanup_json_ struct json_document document = JSON_DOCUMENT_INIT;
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	struct keep_state k = { .version = 0 };
	const void *text;
	size_t len;
	int r = fd_sealed_map(state_fd, LIMIT_KEPT, &text, &len);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "state", NULL, "What was kept of it cannot be read.");
	r = json_read(text, len, 0, &document, e);
	munmap((void *)text, len);
	if (r == 0)
		r = json_decode(document.root, &keep_schema, "state", &k, &decoded, e);
	if (r == 0 && strcmp(k.id, s->id) != 0)
		r = error_set(e, ERROR_INTERNAL, EBADMSG, "state", NULL, "What was kept of it is another session's.");
	if (r == 0 && describe(s, &k) < 0)
		r = no_memory(e);
	return r < 0 ? r : take_policy(s, &k, e);
}

/* Its connection is busy with the Run that it waits for the end of. */
static int take_client(struct session *s, const struct control_message *m, int fd)
{
	struct control *c = s->control;
	int r = connection_new(c, m->connection, m->uid, m->gid, m->pid, fd);

	if (r < 0)
		return r;
	s->client = LIST_FIRST(&c->connections);
	s->client->session = s;
	connection_set_busy(s->client);
	return 0;
}

static void go_on(struct session *s)
{
	audit_adopted(s);
	if (s->state == SESSION_ENDED) {
		if (s->client)
			run_reply_exited(s);
		return;
	}
	session_begin(s);
	grants_begin(s);
}

int adopt_session(struct control *c, const struct control_message *m, int *fds, size_t n_fds)
{
	struct session *s;
	struct error e = ERROR_INIT;
	int r;

	if (n_fds != (m->connection ? 3 : 2) || registry_find_id(&c->registry, m->id))
		return -EBADMSG;
	s = session_new_adopted(c, m->uid, m->id);
	if (!s)
		return -ENOMEM;
	registry_add(&c->registry, s);
	r = audit_resume(&c->audit, s->uid, s->id, &s->audit);
	if (r < 0)
		error_set(&e, ERROR_INTERNAL, -r, "audit log", NULL, "Its audit file cannot be gone on with.");
	if (r == 0) {
		r = session_link_open(&s->link, s, take_fd(&fds[AT_LINK]));
		if (r < 0)
			error_set(&e, ERROR_INTERNAL, -r, "link", NULL, "Its helper cannot be reached.");
	}
	if (r == 0)
		r = restore(s, fds[AT_STATE], &e);
	if (n_fds == 3 && take_client(s, m, take_fd(&fds[AT_CLIENT])) < 0 && r == 0)
		r = no_memory(&e);
	if (r == 0) {
		log_info("session %s goes on", s->id);
		go_on(s);
		return 0;
	}
	log_error("session %s cannot be gone on with: %s (%s); it is ended", s->id, e.message, e.step);
	session_kill(s, CAUSE_FAULT);
	return 0;
}
