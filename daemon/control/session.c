#include "daemon/control/session.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/keep.h"
#include "daemon/control/audit/log_reader.h"
#include "daemon/control/method/method_wait.h"
#include "daemon/control/method/run_reply.h"
#include "daemon/control/session_last.h"
#include "daemon/control/audit/timestamp.h"
#include "daemon/control/usage.h"
#include "daemon/wire/session_wire.h"

/* isod gives a start LIMIT_START_SECONDS; this only ends the wait if isod itself does not answer. */
#define START_MS ((LIMIT_START_SECONDS + 10) * 1000ULL)

static const char *const state_names[] = {
	[SESSION_STARTING] = "starting",
	[SESSION_RUNNING] = "running",
	[SESSION_ENDED] = "ended",
};

const char *session_state_name(enum session_state state)
{
	return state_names[state];
}

int session_exit_code(enum exit_kind kind, int32_t value)
{
	switch (kind) {
	case EXIT_KIND_CODE:
		return value & 0xff;
	case EXIT_KIND_SIGNAL:
		return 128 + (value & 0x7f);
	case EXIT_KIND_TIME:
		return 124;
	case EXIT_KIND_NONE:
	case EXIT_KIND_LOST:
		break;
	}
	return 125;
}

static int make_id(struct registry *registry, char id[ISOD_ID_LEN + 1])
{
	uint8_t random[ISOD_ID_LEN / 2];

	do {
		if (getrandom(random, sizeof(random), 0) != sizeof(random))
			return -EIO;
		for (size_t i = 0; i < sizeof(random); i++)
			snprintf(id + 2 * i, 3, "%02x", random[i]);
	} while (registry_find_id(registry, id));
	return 0;
}

static struct session *new_session(struct control *control, uint32_t uid)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s || uv_timer_init(control->loop, &s->timer) < 0 || uv_timer_init(control->loop, &s->grants.timer) < 0 ||
	    uv_timer_init(control->loop, &s->reload_timer) < 0) {
		free(s);
		return NULL;
	}
	s->control = control;
	s->uid = uid;
	s->started = timestamp_now();
	s->audit = (struct audit_file)AUDIT_FILE_INIT;
	s->link = (struct session_link)SESSION_LINK_INIT;
	s->timer.data = s->grants.timer.data = s->reload_timer.data = s;
	s->handles = 3;
	LIST_INIT(&s->readers);
	LIST_INIT(&s->waiters);
	s->outputs[0] = s->outputs[1] = -1;
	return s;
}

struct session *session_new(struct control *control, uint32_t uid)
{
	char id[ISOD_ID_LEN + 1];
	struct session *s = make_id(&control->registry, id) < 0 ? NULL : new_session(control, uid);

	if (s)
		memcpy(s->id, id, sizeof(id));
	return s;
}

struct session *session_new_adopted(struct control *control, uint32_t uid, const char *id)
{
	struct session *s = new_session(control, uid);

	if (!s)
		return NULL;
	memcpy(s->id, id, ISOD_ID_LEN);
	s->adopted = s->kept = true;
	s->state = SESSION_RUNNING;
	return s;
}

struct session *session_new_from_history(struct control *control, const char *id)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->control = control;
	s->state = SESSION_ENDED;
	s->gone = s->history = true;
	s->audit = (struct audit_file)AUDIT_FILE_INIT;
	s->link = (struct session_link)SESSION_LINK_INIT;
	memcpy(s->id, id, ISOD_ID_LEN);
	LIST_INIT(&s->readers);
	LIST_INIT(&s->waiters);
	s->outputs[0] = s->outputs[1] = -1;
	return s;
}

int session_set_argv(struct session *s, const char *const *argv)
{
	size_t left = SESSION_ARGV_MAX;

	for (; *argv; argv++) {
		size_t len = strlen(*argv);

		if (len > left) {
			if (!string_list_printf(&s->argv, "%.*s...", (int)left, *argv))
				return -ENOMEM;
			break;
		}
		if (!string_list_add(&s->argv, *argv))
			return -ENOMEM;
		left -= len;
	}
	return 0;
}

static void free_now(struct session *s)
{
	string_list_done(&s->argv);
	string_list_done(&s->notes);
	late_done(&s->late);
	buffer_done(&s->last);
	free(s->project);
	free(s->cwd);
	free(s);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct session *s = handle->data;

	s->handles--;
	if (s->condemned && s->handles == 0)
		free_now(s);
}

static void drop_outputs(struct session *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->outputs); i++)
		s->outputs[i] = fd_close(s->outputs[i]);
}

/* Everything that only a live session has. */
static void drop_live_parts(struct session *s)
{
	reload_abandoned(s);
	exec_session_over(s);
	drop_outputs(s);
	session_link_close(&s->link);
	if (!uv_is_closing((uv_handle_t *)&s->timer))
		uv_close((uv_handle_t *)&s->timer, on_timer_closed);
	if (!uv_is_closing((uv_handle_t *)&s->grants.timer))
		uv_close((uv_handle_t *)&s->grants.timer, on_timer_closed);
	if (!uv_is_closing((uv_handle_t *)&s->reload_timer))
		uv_close((uv_handle_t *)&s->reload_timer, on_timer_closed);
	grants_done(&s->grants);
	questions_done(&s->questions);
	audit_close(&s->control->audit, &s->audit);
	late_done_paths(&s->late);
	usage_forget(s);
	if (s->has_policy)
		policy_done(&s->policy);
	s->has_policy = false;
	reload_done(&s->reload);
}

void session_release(struct session *s)
{
	if (s->condemned)
		return;
	if (!s->history)
		drop_live_parts(s);
	log_readers_detach(s);
	if (!LIST_EMPTY(&s->waiters)) {
		struct error e = ERROR_INIT;

		error_set(&e, ERROR_SANDBOX_UNAVAILABLE, 0, "wait", "", "How the session ended is not known.");
		wait_answer(s, &e);
	}
	s->condemned = true;
	if (s->handles == 0)
		free_now(s);
}

static void on_timeout(uv_timer_t *timer)
{
	struct session *s = timer->data;

	session_kill(s, s->state == SESSION_STARTING ? CAUSE_FAULT : CAUSE_TIME);
}

int session_start(struct session *s, struct connection *client, const int *fds, size_t n_fds, unsigned control_flags,
		  struct error *e)
{
	struct control_message m = {
		.type = CONTROL_START,
		.flags = control_flags,
		.connection = client->number,
		.uid = s->uid,
		.gid = client->gid,
		.limits = { .memory = s->policy.memory.value,
			    .pids = (uint32_t)s->policy.pids.value,
			    .cpu_pct = (uint32_t)s->policy.cpu_pct.value,
			    .record = s->policy.record_size.value },
	};
	int r;

	memcpy(m.id, s->id, ISOD_ID_LEN);
	if (s->policy.proxy.auth_file)
		snprintf(m.error.message, sizeof(m.error.message), "%s", s->policy.proxy.auth_file);
	if (s->policy.proxy.ca_file)
		snprintf(m.error.step, sizeof(m.error.step), "%s", s->policy.proxy.ca_file);
	r = monitor_send(&s->control->monitor, &m, fds, n_fds);
	if (r < 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "start", "Try again.",
				 "isod could not be asked to start the session.");
	s->client = client;
	client->session = s;
	uv_timer_start(&s->timer, on_timeout, START_MS, 0);
	registry_add(&s->control->registry, s);
	return 0;
}

/* How an end by the cause is reported; without one both stay as they are. */
static void cause_exit(const struct session *s, enum exit_kind *kind, int32_t *value)
{
	if (s->cause == CAUSE_TIME) {
		*kind = EXIT_KIND_TIME;
		*value = 0;
	} else if (s->cause == CAUSE_KILL || s->cause == CAUSE_HANG_UP) {
		*kind = EXIT_KIND_SIGNAL;
		*value = SIGKILL;
	}
}

/* The helper first: with a terminal its last frame is what tells the client. */
static void send_kill(struct session *s)
{
	enum exit_kind kind = EXIT_KIND_LOST;
	int32_t value = 0;

	cause_exit(s, &kind, &value);
	session_link_ending(&s->link, kind, value);
	monitor_send_kill(&s->control->monitor, s->id);
}

int session_on_started(struct session *s, int link_fd)
{
	int r;

	if (s->state != SESSION_STARTING) {
		fd_close(link_fd);
		return -EBADMSG;
	}
	s->state = SESSION_RUNNING;
	uv_timer_stop(&s->timer);
	r = session_link_open(&s->link, s, link_fd);
	if (r < 0) {
		session_kill(s, CAUSE_FAULT);
		return r;
	}
	if (s->outputs[0] >= 0 && session_link_outputs(&s->link, s->outputs) < 0)
		session_kill(s, CAUSE_FAULT);
	drop_outputs(s);
	if (s->cause != CAUSE_NONE) {
		/* It was given up while it started: isod may have let the kill pass it by. */
		send_kill(s);
		return 0;
	}
	session_begin(s);
	if (s->client)
		run_reply_started(s);
	/* The client of a terminal is on its way to isod-session, after the reply. */
	if (!s->terminal || s->detached)
		keep_send(s);
	return 0;
}

void session_begin(struct session *s)
{
	int64_t limit = (int64_t)s->policy.wall.value * 1000, passed = s->adopted ? timestamp_now() - s->started : 0;

	if (limit > 0)
		uv_timer_start(&s->timer, on_timeout, passed < limit ? (uint64_t)(limit - passed) : 0, 0);
}

int session_on_port(struct session *s, uint16_t host, uint16_t inside)
{
	if (s->state != SESSION_STARTING || s->n_ports == LIMIT_PUBLISHED_PORTS)
		return -EBADMSG;
	s->ports[s->n_ports].host = host;
	s->ports[s->n_ports++].inside = inside;
	return string_list_printf(&s->notes, "Port %u of this machine (127.0.0.1) leads to port %u of the sandbox",
				  host, inside)
		       ? 0
		       : -ENOMEM;
}

/* No trace of it stays but its audit file. */
void session_on_failed(struct session *s, const struct error *e)
{
	audit_start_failed(s, e);
	registry_remove(&s->control->registry, s);
	if (s->client)
		run_reply_failed(s, e);
	wait_answer(s, e);
	session_release(s);
}

/* An end that we brought about ourselves is told by its cause, however the processes died; a program that had ended on
 * its own keeps its code. */
static void settle_exit(struct session *s, enum exit_kind kind, int32_t value)
{
	s->exit_kind = kind;
	s->exit_value = value;
	if (kind != EXIT_KIND_CODE)
		cause_exit(s, &s->exit_kind, &s->exit_value);
}

void session_on_exited(struct session *s, enum exit_kind kind, int32_t value)
{
	if (s->state == SESSION_ENDED)
		return;
	s->state = SESSION_ENDED;
	s->ended = timestamp_now();
	settle_exit(s, kind, value);
	uv_timer_stop(&s->timer);
	audit_exit(s);
	if (s->client)
		run_reply_exited(s);
	if (s->kept)
		keep_send(s);
	wait_answer(s, NULL);
}

unsigned session_count_clients(const struct session *s)
{
	if (s->state == SESSION_ENDED)
		return 0;
	return s->has_clients ? s->n_clients : s->client != NULL;
}

bool session_is_driven(const struct session *s)
{
	if (s->state == SESSION_ENDED)
		return false;
	return s->has_clients ? s->driven : s->client != NULL;
}

bool session_is_attachable(const struct session *s)
{
	if (s->state == SESSION_ENDED)
		return s->has_last;
	return s->state == SESSION_RUNNING && (s->terminal || s->detached);
}

void session_on_ended(struct session *s, enum exit_kind kind, int32_t value)
{
	if (s->state == SESSION_STARTING) {
		struct error e = ERROR_INIT;

		error_set(&e, ERROR_SANDBOX_UNAVAILABLE, 0, "start", "See isod's log.",
			  "The session ended before its program ran.");
		session_on_failed(s, &e);
		return;
	}
	/* What isod-session had sent before it ended is still in the channel: the exit status, the last connections. */
	session_link_drain(&s->link);
	session_on_exited(s, kind, value);
	s->gone = true;
	if (s->kept)
		monitor_send_session_done(&s->control->monitor, s->id);
	if (s->client)
		run_reply_gone(s);
	registry_retire(&s->control->registry, s);
	session_last_trim(s);
	drop_live_parts(s);
	session_log_changed(s);
	registry_trim(&s->control->registry, s->uid);
}

void session_kill(struct session *s, enum session_cause cause)
{
	if (s->gone || s->history)
		return;
	if (s->cause == CAUSE_NONE)
		s->cause = cause;
	send_kill(s);
}

void session_abandon(struct session *s)
{
	if (s->history || s->gone)
		return;
	if (s->cause == CAUSE_NONE)
		s->cause = CAUSE_FAULT;
	session_on_exited(s, EXIT_KIND_LOST, 0);
	s->gone = true;
}

void session_on_hang_up(struct session *s)
{
	s->client = NULL;
	if (s->state != SESSION_ENDED)
		session_kill(s, CAUSE_HANG_UP);
}

void session_log_changed(struct session *s)
{
	log_readers_wake(s);
}
