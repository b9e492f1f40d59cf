#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "daemon/control/audit/audit_verify.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/method/log_verify.h"
#include "daemon/control/session.h"
#include "json/write.h"
#include "proto/schema.h"

enum { VERIFYING_MAX = 2 };

struct log_verify {
	uv_work_t work;
	struct control *control;
	struct connection *connection; /* NULL once it is gone */
	struct audit_verify verify;
};

void log_verify_detach(struct log_verify *job)
{
	if (!job)
		return;
	job->connection = NULL;
	/* Where it has not begun, it need not: on_done() frees it. */
	(void)uv_cancel((uv_req_t *)&job->work);
}

static void in_thread(uv_work_t *work)
{
	struct log_verify *job = work->data;

	audit_verify_run(&job->verify);
}

/* What was begun or removed meanwhile is no fault of the file's. */
static bool still_holds(const struct audit_index *ix, const struct audit_finding *f)
{
	const bool known = audit_index_find(ix, f->id);

	return (strcmp(f->state, "unknown") != 0 || !known) && (strcmp(f->state, "missing") != 0 || known);
}

static void write_findings(struct json_writer *w, const struct log_verify *job)
{
	const struct audit_verify *v = &job->verify;
	uint64_t n = v->n_more;

	json_write_key(w, "findings");
	json_write_array(w);
	for (size_t i = 0; i < v->n_findings; i++) {
		const struct audit_finding *f = &v->findings[i];

		if (!still_holds(&job->control->audit.index, f))
			continue;
		n++;
		json_write_object(w);
		json_write_member_string(w, "session", f->id);
		json_write_member_string(w, "state", f->state);
		json_write_member_integer(w, "line", (int64_t)f->line);
		json_write_member_string(w, "text", f->text);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_member_bool(w, "intact", n == 0);
	json_write_member_integer(w, "more", (int64_t)v->n_more);
}

static void reply(struct log_verify *job)
{
	struct connection *c = job->connection;
	const struct audit_verify *v = &job->verify;
	char hash[AUDIT_HASH_TEXT], head[AUDIT_HASH_TEXT + 24];
	struct json_writer *w;

	audit_hash_format(v->head, hash);
	snprintf(head, sizeof(head), "%" PRIu64 ":%s", v->number, hash);
	w = connection_reply_begin(c, false);
	if (w) {
		write_findings(w, job);
		json_write_member_integer(w, "sessions", (int64_t)v->sessions);
		json_write_member_integer(w, "lines", (int64_t)v->lines);
		json_write_member_integer(w, "bytes", (int64_t)v->bytes);
		json_write_member_string(w, "head", head);
	}
	connection_reply_end(c, w);
}

static void on_done(uv_work_t *work, int status)
{
	struct log_verify *job = work->data;
	struct connection *c = job->connection;

	if (c) {
		struct error e = ERROR_INIT;
		int r = status < 0 ? status : job->verify.error;

		c->verify = NULL;
		if (r < 0) {
			error_set(&e, ERROR_INTERNAL, -r, "verify", NULL, "The log could not be looked through.");
			connection_reply_error(c, &e);
		} else {
			reply(job);
		}
		connection_call_done(c);
	}
	job->control->n_verifying--;
	audit_verify_done(&job->verify);
	free(job);
}

static void add(struct audit_verify *v, struct control *control, const struct audit_entry *entry)
{
	struct audit_subject *s = &v->subjects[v->n_subjects++];
	const struct session *live;

	audit_index_id(entry, s->id);
	s->place = entry->place;
	live = entry->flags & AUDIT_ENTRY_OPEN ? registry_find_id(&control->registry, s->id) : NULL;
	if (!live || live->audit.fd < 0)
		return;
	s->open = true;
	s->head = live->audit.written;
	s->bytes = (uint64_t)live->audit.size;
	memcpy(s->origin, live->audit.origin, sizeof(s->origin));
}

/* "NUMBER:HASH", as .head of an earlier answer. */
static int take_anchor(struct audit_verify *v, const char *text, struct error *e)
{
	const char *colon = text ? strchr(text, ':') : NULL;
	char number[24];

	if (!text)
		return 0;
	snprintf(number, sizeof(number), "%.*s", colon ? (int)(colon - text) : 0, text);
	if (!colon || number_parse_u64(number, INT64_MAX, &v->anchor_number) < 0 || v->anchor_number == 0 ||
	    audit_hash_parse(colon + 1, strlen(colon + 1), v->anchor_hash) < 0)
		return error_set(e, ERROR_INVALID, EINVAL, "head", "Give one that `isoctl log verify` has shown.",
				 "This is no head of the audit log.");
	return 0;
}

static int collect(struct log_verify *job, uint32_t uid, const char *id)
{
	const struct audit_index *ix = &job->control->audit.index;
	struct audit_verify *v = &job->verify;
	const struct audit_entry *one = id ? audit_index_find(ix, id) : NULL;

	v->dir_fd = openat(ix->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	v->index_fd = fcntl(ix->fd, F_DUPFD_CLOEXEC, 3);
	v->count = ix->count;
	v->number = ix->number;
	memcpy(v->head, ix->head, sizeof(v->head));
	v->strangers = !id && uid == 0;
	v->subjects = calloc(ix->n_entries + 1, sizeof(*v->subjects));
	if (v->dir_fd < 0 || v->index_fd < 0 || !v->subjects)
		return v->subjects ? -errno : -ENOMEM;
	if (one)
		add(v, job->control, one);
	for (size_t i = 0; !id && i < ix->n_entries; i++)
		if (!(ix->entries[i].flags & AUDIT_ENTRY_REMOVED) && (uid == 0 || ix->entries[i].uid == uid))
			add(v, job->control, &ix->entries[i]);
	return 0;
}

int method_log_verify(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct log_verify_parameters *p = parameters;
	const struct session *s = p->session ? registry_find(&c->control->registry, c->uid, p->session, e) : NULL;
	struct log_verify *job;
	int r;

	if (p->session && !s)
		return -ENOENT;
	/* Each holds descriptors and, for seconds, a thread of the few that also bring files to the disk. */
	if (c->control->n_verifying >= VERIFYING_MAX)
		return error_set(e, ERROR_LIMIT, EAGAIN, "verify", "Try again.", "Others look through the log.");
	job = calloc(1, sizeof(*job));
	if (!job)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "verify", NULL, "There is no memory left.");
	job->work.data = job;
	job->control = c->control;
	job->connection = c;
	job->verify.dir_fd = job->verify.index_fd = -1;
	r = take_anchor(&job->verify, p->head, e);
	if (r == 0) {
		r = collect(job, c->uid, s ? s->id : NULL);
		if (r == 0)
			r = uv_queue_work(c->control->loop, &job->work, in_thread, on_done);
		if (r < 0)
			error_set(e, ERROR_INTERNAL, -r, "verify", NULL, "The log could not be looked through.");
	}
	if (r < 0) {
		audit_verify_done(&job->verify);
		free(job);
		return r;
	}
	c->control->n_verifying++;
	c->verify = job;
	connection_set_busy(c);
	return 0;
}
