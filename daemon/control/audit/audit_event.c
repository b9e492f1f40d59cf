#include "daemon/control/audit/audit_event.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/control/audit/audit_line.h"
#include "daemon/control/audit/audit_gpg.h"
#include "daemon/control/audit/audit_ssh.h"
#include "daemon/control/control.h"
#include "daemon/control/late.h"
#include "daemon/control/session.h"
#include "daemon/control/audit/timestamp.h"
#include "json/write.h"
#include "policy/address.h"
#include "view/protect.h"

/* The longest line: arguments at six bytes for one, a project path likewise, the rest small. */
#define LINE_MAX_BYTES (128U << 10)

/* Bytes beyond LIMIT_AUDIT_FILE, for late files alone. */
#define LATE_ROOM (4U << 20)
/* And beyond that for changes of the policy, which nothing inside of a session makes: some 10,000. */
#define POLICY_ROOM (4U << 20)

static struct json_writer *begin_line(const char *id, uint32_t uid, struct buffer *line, const char *event)
{
	struct json_writer *w = json_write_new(line);
	char time[TIMESTAMP_SIZE];

	if (!w)
		return NULL;
	json_write_object(w);
	json_write_member_string(w, "time", timestamp_format(timestamp_now(), time));
	json_write_member_string(w, "session", id);
	json_write_member_integer(w, "uid", uid);
	json_write_member_string(w, "event", event);
	return w;
}

struct json_writer *audit_event_begin(const struct session *s, struct buffer *line, const char *event)
{
	return begin_line(s->id, s->uid, line, event);
}

/* What searches ask the index for. program "": not known. */
static void mark(struct session *s, bool denied, const char *host, const char *program)
{
	s->audit.denied += denied;
	if (host && host[0] != '\0')
		audit_marks_add(s->audit.marks, host);
	if (program[0] != '\0')
		audit_marks_add_program(s->audit.marks, program);
}

static int append(struct session *s, struct json_writer *w, struct buffer *line)
{
	int r;

	json_write_object_end(w);
	r = json_write_finish(w);
	if (r == 0)
		r = audit_append(&s->control->audit, &s->audit, line);
	return r;
}

/* A gap is said in the file itself, before the first line after it. */
static void tell_gap(struct session *s)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	uint64_t lost = s->audit.lost;
	struct json_writer *w;

	if (lost == 0)
		return;
	w = audit_event_begin(s, &line, "events.lost");
	if (!w)
		return;
	json_write_member_integer(w, "count", (int64_t)lost);
	json_write_member_string(w, "reason", "the log could not be written");
	audit_gap_begin(&s->audit);
	append(s, w, &line);
}

void audit_resumed(struct audit *a, struct audit_file *f, uint64_t cut, uint64_t missing, bool broken)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = begin_line(f->id, f->uid, &line, "log.resumed");

	if (!w)
		return;
	json_write_member_string(w, "reason", "isod-control was started anew");
	json_write_member_integer(w, "cutBytes", (int64_t)cut);
	json_write_member_integer(w, "missingLines", (int64_t)missing);
	json_write_member_bool(w, "intact", !broken);
	json_write_object_end(w);
	if (json_write_finish(w) == 0)
		audit_append(a, f, &line);
}

int audit_event_end(struct session *s, struct json_writer *w, struct buffer *line)
{
	int r;

	tell_gap(s);
	r = append(s, w, line);
	session_log_changed(s);
	return r;
}

/* Over every argument with its NUL, so that the whole can be proven later. */
static int hash_argv(const char *const *argv, char ret[65])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned len = 0;
	int ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);

	for (; ok && *argv; argv++)
		ok = EVP_DigestUpdate(ctx, *argv, strlen(*argv) + 1);
	ok = ok && EVP_DigestFinal_ex(ctx, digest, &len);
	EVP_MD_CTX_free(ctx);
	if (!ok || len != 32)
		return -EIO;
	for (unsigned i = 0; i < len; i++)
		snprintf(ret + 2 * (size_t)i, 3, "%02x", digest[i]);
	return 0;
}

int audit_write_argv(struct json_writer *w, const char *const *argv)
{
	size_t left = AUDIT_ARGV_MAX;
	bool cut = false;
	char hash[65];

	json_write_key(w, "argv");
	json_write_array(w);
	for (const char *const *arg = argv; *arg && !cut; arg++) {
		size_t len = strlen(*arg);

		cut = len >= left;
		json_write_bytes(w, *arg, cut ? left : len);
		left -= cut ? left : len + 1;
	}
	json_write_array_end(w);
	if (!cut)
		return 0;
	if (hash_argv(argv, hash) < 0)
		return -EIO;
	json_write_member_bool(w, "argvCut", true);
	json_write_member_string(w, "argvSha256", hash);
	return 0;
}

int audit_start(struct session *s, const char *const *argv, int32_t pid)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;
	int r = audit_open(&s->control->audit, s->uid, s->id, &s->audit);

	if (r < 0)
		return r;
	s->audit.place = audit_live_take(&s->control->audit.live, s->id);
	w = audit_event_begin(s, &line, "session.start");
	if (!w)
		return -ENOMEM;
	r = audit_write_argv(w, argv);
	if (r < 0) {
		json_write_finish(w);
		return r;
	}
	json_write_key(w, "project");
	json_write_bytes(w, s->project, strlen(s->project));
	json_write_member_string(w, "name", s->name);
	json_write_member_string(w, "policy", s->digest);
	json_write_member_bool(w, "terminal", s->terminal);
	json_write_member_integer(w, "pid", pid);
	return append(s, w, &line);
}

int audit_policy(struct session *s)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;

	if (s->audit.size >= (off_t)(LIMIT_AUDIT_FILE + LATE_ROOM + POLICY_ROOM))
		return -EFBIG;
	w = audit_event_begin(s, &line, "policy");
	if (!w)
		return -ENOMEM;
	json_write_member_string(w, "policy", s->digest);
	return audit_event_end(s, w, &line);
}

void audit_grant(struct session *s, const char *event, const struct grant *grant, uint64_t seconds)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, event);

	if (!w)
		return;
	json_write_member_string(w, "rule", grant->host);
	json_write_member_string(w, "scope", grant->once ? "once" : "session");
	if (seconds > 0)
		json_write_member_integer(w, "seconds", (int64_t)seconds);
	audit_event_end(s, w, &line);
}

static void write_error(struct json_writer *w, const struct error *e)
{
	json_write_member_string(w, "error", error_code_name(e->code));
	json_write_member_string(w, "step", e->step);
	json_write_member_string(w, "message", e->message);
	json_write_member_integer(w, "errno", e->err);
}

void audit_start_failed(struct session *s, const struct error *e)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, "session.start_failed");

	if (!w)
		return;
	write_error(w, e);
	audit_event_end(s, w, &line);
}

void audit_refused(struct session *s, const char *const *argv, const char *project, int32_t pid, const struct error *e)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;
	int r = audit_open(&s->control->audit, s->uid, s->id, &s->audit);

	if (r < 0) {
		log_error("a refused run of uid %u cannot be written to the audit log: %s", s->uid, strerror(-r));
		return;
	}
	w = audit_event_begin(s, &line, "session.start_failed");
	if (w) {
		audit_write_argv(w, argv);
		json_write_key(w, "project");
		json_write_bytes(w, project, strlen(project));
		json_write_member_integer(w, "pid", pid);
		write_error(w, e);
		append(s, w, &line);
	}
	audit_close_now(&s->control->audit, &s->audit, AUDIT_RECORD_REFUSED);
}

/* A session can make connections without end; its first ones and their number are kept. */
static bool has_room(struct session *s, uint64_t count)
{
	if (s->audit.size < (off_t)LIMIT_AUDIT_FILE)
		return true;
	if (s->audit.full == 0)
		log_warning("session %s: its audit file is full, further connections are only counted", s->id);
	s->audit.full += count;
	return false;
}

void audit_connection(struct session *s, const struct session_connection *m)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;
	char address[64];

	if (!has_room(s, m->count))
		return;
	w = audit_event_begin(s, &line, audit_line_event(m->type));
	if (!w)
		return;
	audit_line_write_connection(w, m, &s->policy);
	mark(s, !m->allowed, m->name, m->program);
	if (m->family != 0)
		audit_marks_add(s->audit.marks, address_format(m->family, m->address, address));
	audit_event_end(s, w, &line);
}

static const char *const late_names[LATE_KIND_END] = {
	[LATE_STATE] = "late.state",   [LATE_REFUSED] = "secret.refused",
	[LATE_PLANTED] = "planted",    [LATE_RUNS] = "made",
	[LATE_MOVED] = "secret.moved", [LATE_UNPROTECTED] = "unprotected",
	[LATE_MORE] = "late.more",     [LATE_LOST] = "late.lost",
	[LATE_LACKING] = "lacking",    [LATE_PLANT_REFUSED] = "plant.refused",
};

static void write_late_path(struct json_writer *w, const struct late_event *m)
{
	json_write_key(w, "path");
	json_write_bytes(w, m->path, m->path_len);
	if (m->kind != LATE_RUNS)
		json_write_member_string(w, "rule", m->group ? protect_names[m->group].name : "policy");
	json_write_member_string(w, "by", m->pid > 0 ? "session" : m->pid == 0 ? "host" : "unknown");
	if (m->pid > 0)
		json_write_member_integer(w, "pid", m->pid);
	if (m->program[0] != '\0') {
		json_write_key(w, "program");
		json_write_bytes(w, m->program, strlen(m->program));
	}
	if (m->kind == LATE_UNPROTECTED)
		json_write_member_string(w, "advice", "Start the session anew: this one can write it.");
}

static void write_text(struct json_writer *w, const char *text)
{
	json_write_key(w, "text");
	json_write_bytes(w, text, strlen(text));
}

static void write_lacking(struct json_writer *w, const struct late_event *m)
{
	char text[LATE_LACK_TEXT_MAX];

	late_lack_text(m, text);
	write_text(w, text);
	json_write_member_integer(w, "count", m->count);
}

void audit_lacking(struct session *s, const char *text)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, late_names[LATE_LACKING]);

	if (!w)
		return;
	write_text(w, text);
	audit_event_end(s, w, &line);
}

void audit_late(struct session *s, const struct late_event *m)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;

	/* Room that connections cannot take: pid 1 has bounded the number. */
	if (s->audit.size >= (off_t)(LIMIT_AUDIT_FILE + LATE_ROOM)) {
		s->audit.full++;
		return;
	}
	w = audit_event_begin(s, &line, late_names[m->kind]);
	if (!w)
		return;
	if (m->kind == LATE_STATE) {
		json_write_member_string(w, "late", late_state_name(m->way));
		if (late_reason_text(m->way, m->reason))
			json_write_member_string(w, "reason", late_reason_text(m->way, m->reason));
	} else if (m->kind == LATE_LACKING) {
		write_lacking(w, m);
	} else if (m->kind == LATE_MORE) {
		json_write_member_integer(w, "count", m->count);
	} else if (m->path_len > 0) {
		write_late_path(w, m);
		mark(s, m->kind == LATE_REFUSED || m->kind == LATE_PLANT_REFUSED, NULL, m->program);
	}
	audit_event_end(s, w, &line);
}

/* One an account and set of rules; so it has the room that changes of the policy have. */
void audit_budget(struct session *s, const struct session_budget *m)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;

	if (s->audit.size >= (off_t)(LIMIT_AUDIT_FILE + LATE_ROOM + POLICY_ROOM)) {
		s->audit.full++;
		return;
	}
	w = audit_event_begin(s, &line, "budget");
	if (!w)
		return;
	audit_line_write_budget(w, m->account, m->direction, m->limit, &s->policy);
	audit_event_end(s, w, &line);
}

void audit_agent(struct session *s, const struct session_agent *m)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	const bool gpg = m->type == SESSION_GPG;
	struct json_writer *w =
		has_room(s, m->count) ? audit_event_begin(s, &line, gpg ? "gpg-agent" : "ssh-agent") : NULL;

	if (!w)
		return;
	if (gpg)
		audit_gpg_write(w, m);
	else
		audit_ssh_write(w, m);
	mark(s, m->reason != 0, gpg ? NULL : m->target, m->program);
	audit_event_end(s, w, &line);
}

static void write_lost(struct session *s, uint64_t count, const char *reason)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, "events.lost");

	if (!w)
		return;
	json_write_member_integer(w, "count", (int64_t)(count & INT64_MAX));
	json_write_member_string(w, "reason", reason);
	audit_event_end(s, w, &line);
}

void audit_lost(struct session *s, uint32_t count)
{
	if (has_room(s, count))
		write_lost(s, count, "the session had too many events at once");
}

static const char *const record_states[RECORD_STATE_END] = {
	[RECORD_CUT] = "cut",
	[RECORD_BEHIND] = "behind",
	[RECORD_FAILED] = "failed",
};

int audit_record(struct session *s, uint32_t state, int32_t err)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;

	if (state == 0 || state >= RECORD_STATE_END || err < 0)
		return -EBADMSG;
	w = has_room(s, 1) ? audit_event_begin(s, &line, "record") : NULL;
	if (!w)
		return 0;
	json_write_member_string(w, "state", record_states[state]);
	if (err > 0)
		json_write_member_integer(w, "errno", err);
	audit_event_end(s, w, &line);
	return 0;
}

static const char *cause_name(const struct session *s)
{
	switch (s->cause) {
	case CAUSE_KILL:
		return "kill";
	case CAUSE_HANG_UP:
		return "hang-up";
	case CAUSE_TIME:
		return "time";
	case CAUSE_FAULT:
		return "lost";
	case CAUSE_NONE:
		break;
	}
	return s->exit_kind == EXIT_KIND_LOST ? "lost" : "exit";
}

void audit_adopted(struct session *s)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, "session.adopted");

	if (!w)
		return;
	json_write_member_string(w, "policy", s->digest);
	audit_event_end(s, w, &line);
}

void audit_exit(struct session *s)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w;

	if (s->audit.full > 0)
		write_lost(s, s->audit.full, "the audit file of the session is full");
	w = audit_event_begin(s, &line, "session.exit");
	if (!w)
		return;
	json_write_member_integer(w, "exit", session_exit_code(s->exit_kind, s->exit_value));
	if (s->exit_kind == EXIT_KIND_SIGNAL)
		json_write_member_integer(w, "signal", s->exit_value);
	json_write_member_string(w, "cause", cause_name(s));
	json_write_member_integer(w, "durationMs", s->ended - s->started);
	audit_event_end(s, w, &line);
}

int audit_exec_event(struct session *s, const char *event, int64_t number,
		     int (*write)(struct json_writer *w, const void *data), const void *data)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(LINE_MAX_BYTES);
	struct json_writer *w = audit_event_begin(s, &line, event);
	int r;

	if (!w)
		return -ENOMEM;
	json_write_member_integer(w, "exec", number);
	r = write(w, data);
	if (r < 0)
		json_write_finish(w);
	return r < 0 ? r : audit_event_end(s, w, &line);
}
