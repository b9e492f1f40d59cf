#include "daemon/monitor/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/monitor/keep.h"
#include "daemon/monitor/layer_call.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/control_wire.h"

/* How long isod-session may go on after pid 1 ended: handing over what the program wrote last, to a client that reads
 * slowly or has stopped its terminal; and after an end by force. */
#define DRAIN_MS 60000
#define GRACE_MS 2000
/* A control group is busy until its last process is gone for good, which is a matter of moments. */
#define CGROUP_RETRY_MS 5
#define CGROUP_TRIES 400

struct session *sessions_find(struct sessions *sessions, const char *id)
{
	struct session *s;

	LIST_FOREACH (s, &sessions->list, link)
		if (strcmp(s->id, id) == 0)
			return s;
	return NULL;
}

unsigned sessions_count_of(const struct sessions *sessions, uid_t uid)
{
	const struct session *s;
	unsigned n = 0;

	LIST_FOREACH (s, &sessions->list, link)
		n += s->uid == uid;
	return n;
}

struct session *session_new(struct monitor *m, const char *id, uid_t uid)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->monitor = m;
	s->generation = m->control.generation;
	s->uid = uid;
	memcpy(s->id, id, sizeof(s->id));
	s->report_fd = s->control_end = s->keep.state = s->keep.client = -1;
	session_join_init(s);
	s->cgroup = (struct cgroup_leaf)CGROUP_LEAF_INIT;
	s->scratch_left = -EINPROGRESS;
	uv_timer_init(&m->loop, &s->timer);
	s->timer.data = s->work.data = s->report.data = s;
	LIST_INSERT_HEAD(&m->sessions.list, s, link);
	m->sessions.count++;
	return s;
}

static bool anybody_alive(const struct session *s)
{
	return s->launch.alive || s->pid1.alive || s->helper.alive || s->join.n_running > 0;
}

bool session_is_over(const struct session *s)
{
	return s->state >= SESSION_ENDING && !s->launch.alive && !s->pid1.alive && s->report_fd < 0;
}

static void kill_inside(struct session *s)
{
	child_kill(&s->launch);
	child_kill(&s->pid1);
	session_join_kill(s);
	cgroup_leaf_kill(&s->cgroup);
}

/* ---- the end of its life ---- */

static void tell_control(struct session *s, enum control_type type, int fd)
{
	struct monitor *m = s->monitor;
	struct control_message message = { .type = type, .kind = EXIT_KIND_LOST };

	/* A control that was started since does not know it. */
	if (s->generation != m->control.generation) {
		fd_close(fd);
		return;
	}
	memcpy(message.id, s->id, sizeof(message.id));
	message.error = s->error;
	control_link_send(&m->control, &message, fd);
}

static void on_timer_closed(uv_handle_t *handle)
{
	struct session *s = handle->data;
	struct monitor *m = s->monitor;

	etc_layer_put(s->etc);
	free(s);
	m->sessions.count--;
	monitor_session_gone(m);
}

/* How it ended is not lost while there is no isod-control, or where it dies before that is written down. */
static bool waits_for_control(struct session *s)
{
	struct monitor *m = s->monitor;

	if (!s->keep.there || m->stopping)
		return false;
	if (!s->keep.told && m->control.state == CONTROL_UP && s->generation == m->control.generation) {
		s->keep.told = true;
		tell_control(s, CONTROL_SESSION_ENDED, -1);
	}
	return true;
}

static void finish(struct session *s)
{
	if (s->scratch_left < 0)
		log_warning("session %s: its scratch folder stays until the next start: %s", s->id,
			    strerror(-s->scratch_left));
	s->state = SESSION_GONE;
	s->control_end = fd_close(s->control_end);
	session_join_done(s);
	cgroup_leaf_close(&s->cgroup);
	LIST_REMOVE(s, link);
	if (!s->keep.told)
		tell_control(s, s->was_started ? CONTROL_SESSION_ENDED : CONTROL_SESSION_FAILED, -1);
	keep_drop(s);
	uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}

static void on_cgroup_timer(uv_timer_t *timer)
{
	session_settle(timer->data);
}

static bool cgroup_is_gone(struct session *s)
{
	if (cgroup_leaf_remove(&s->cgroup) == 0)
		return true;
	if (++s->cgroup_tries < CGROUP_TRIES) {
		uv_timer_start(&s->timer, on_cgroup_timer, CGROUP_RETRY_MS, 0);
		return false;
	}
	log_warning("session %s: its control group stays until the next start", s->id);
	return true;
}

/* In a thread of the pool: the loop looks at .scratch_left only, which is set when the pool is done with .work. */
static void remove_scratch(uv_work_t *work)
{
	struct session *s = work->data;

	s->work_result = tree_remove(s->monitor->place.sessions, s->id);
	if (s->keeps_layer && !s->was_started)
		(void)tree_remove(s->monitor->place.layers, s->id);
}

static void on_scratch_removed(uv_work_t *work, int status)
{
	struct session *s = work->data;

	s->scratch_left = s->work_result;
	session_settle(s);
}

static void begin_cleaning(struct session *s)
{
	s->state = SESSION_CLEANING;
	uv_timer_stop(&s->timer);
	late_tell_rest(s);
	late_forget(&s->monitor->late, s->late_key);
	if (uv_queue_work(&s->monitor->loop, &s->work, remove_scratch, on_scratch_removed) < 0)
		s->scratch_left = tree_remove(s->monitor->place.sessions, s->id);
}

static void on_helper_overdue(uv_timer_t *timer)
{
	struct session *s = timer->data;

	child_kill(&s->helper);
}

static void begin_ending(struct session *s, uint64_t helper_ms)
{
	s->state = SESSION_ENDING;
	kill_inside(s);
	uv_timer_start(&s->timer, on_helper_overdue, helper_ms, 0);
}

void session_end(struct session *s, const struct error *e)
{
	if (e && s->error.code == ERROR_NONE)
		s->error = *e;
	if (s->state < SESSION_ENDING) {
		if (!s->was_started)
			error_set(&s->error, ERROR_INTERNAL, ECANCELED, "start", "",
				  "The session was ended before its program ran.");
		begin_ending(s, s->was_started ? GRACE_MS : 0);
	} else if (s->state == SESSION_ENDING) {
		kill_inside(s);
		uv_timer_start(&s->timer, on_helper_overdue, GRACE_MS, 0);
	}
	session_settle(s);
}

void sessions_end_all(struct monitor *m)
{
	struct session *s, *next;

	for (s = LIST_FIRST(&m->sessions.list); s; s = next) {
		next = LIST_NEXT(s, link);
		session_end(s, NULL);
	}
}

/* ---- its start ---- */

/* isod-session ends with 0 once pid 1 has ended and all was handed over, which for a short program may be seen here
 * before the end of the reports is. */
static bool helper_failed(const struct session *s)
{
	return !s->helper.alive && (s->helper.status.si_code != CLD_EXITED || s->helper.status.si_status != 0);
}

static void judge_start(struct session *s)
{
	if (s->error.code == ERROR_NONE && s->pid1.pid > 0) {
		int theirs = fcntl(s->control_end, F_DUPFD_CLOEXEC, 0);

		if (theirs >= 0) {
			s->was_started = true;
			s->state = SESSION_RUNNING;
			uv_timer_stop(&s->timer);
			tell_control(s, CONTROL_SESSION_STARTED, theirs);
			return;
		}
		error_set(&s->error, ERROR_LIMIT, errno, "launch", "", "There are no descriptors left.");
	}
	error_set(&s->error, ERROR_INTERNAL, 0, "launch", "Look into the log of isod.",
		  "isod-launch ended without a report.");
	begin_ending(s, 0);
}

/* What is due now, by state; called after every event. Each step may lead on to the next one. */
void session_settle(struct session *s)
{
	if (s->state == SESSION_STARTING && helper_failed(s)) {
		error_set(&s->error, ERROR_INTERNAL, 0, "isod-session", "Look into the log of isod.",
			  "isod-session ended during the start.");
		begin_ending(s, 0);
	}
	if (s->state == SESSION_STARTING && s->report_fd < 0)
		judge_start(s);
	if (s->state == SESSION_RUNNING && (!s->pid1.alive || !s->helper.alive))
		begin_ending(s, DRAIN_MS);
	if (session_is_over(s))
		layer_call_session_over(s);
	if (s->state == SESSION_ENDING && !anybody_alive(s) && s->report_fd < 0)
		begin_cleaning(s);
	if (s->state == SESSION_CLEANING && s->scratch_left != -EINPROGRESS && cgroup_is_gone(s) &&
	    !waits_for_control(s))
		finish(s);
}

void session_go_on(struct session *s)
{
	session_settle(s);
}

void session_child_ended(struct child *child)
{
	struct session *s = child->owner;

	/* With status 0 it has seen the end of pid 1, whose own is not reaped yet. */
	if (child == &s->helper && s->state < SESSION_ENDING && helper_failed(s)) {
		char text[64];

		log_error("session %s: isod-session ended first: %s", s->id, child_describe(child, text, sizeof(text)));
	}
	session_settle(s);
}

static void on_start_overdue(uv_timer_t *timer)
{
	struct error e = ERROR_INIT;

	error_set(&e, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "start", "", "The sandbox was not ready within %d seconds.",
		  LIMIT_START_SECONDS);
	session_end(timer->data, &e);
}

static void tell_port(struct session *s, const struct launch_report *report)
{
	struct control_message m = { .type = CONTROL_PORT, .value = report->host_port, .kind = report->inside_port };

	memcpy(m.id, s->id, sizeof(m.id));
	if (s->generation == s->monitor->control.generation)
		control_link_send(&s->monitor->control, &m, -1);
}

static void take_report(struct session *s, struct launch_report *report)
{
	int r;

	switch (report->type) {
	case REPORT_PID1:
		r = s->pid1.pid > 0 ? -EPROTO
				    : child_watch(&s->pid1, &s->monitor->loop, report->pid, session_child_ended, s);
		if (r < 0)
			error_set(&s->error, ERROR_INTERNAL, -r, "launch", "",
				  "The first process of the session cannot be watched: %s.", strerror(-r));
		/* It came too late: everything else was killed already. */
		if (s->state != SESSION_STARTING)
			child_kill(&s->pid1);
		break;
	case REPORT_LATE:
		s->late_key = (uint32_t)report->pid;
		break;
	case REPORT_PORT:
		tell_port(s, report);
		break;
	case REPORT_FAILED:
		error_sanitise(&report->error);
		if (s->error.code == ERROR_NONE && report->error.code != ERROR_NONE)
			s->error = report->error;
		break;
	default:
		error_set(&s->error, ERROR_INTERNAL, EBADMSG, "launch", "", "isod-launch reported nonsense.");
	}
}

static void on_report_closed(uv_handle_t *handle)
{
	struct session *s = handle->data;

	s->report_fd = fd_close(s->report_fd);
	session_settle(s);
}

static void on_report(uv_poll_t *poll, int status, int events)
{
	struct session *s = poll->data;

	for (;;) {
		struct launch_report report;
		ssize_t n = read(s->report_fd, &report, sizeof(report));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n == sizeof(report)) {
			take_report(s, &report);
			continue;
		}
		if (n != 0)
			error_set(&s->error, ERROR_INTERNAL, EBADMSG, "launch", "", "A report of isod-launch was cut.");
		uv_close((uv_handle_t *)poll, on_report_closed);
		return;
	}
	/* With a status below zero libuv has stopped watching. */
	if (status < 0)
		uv_poll_start(poll, UV_READABLE, on_report);
	/* A failure need not wait for the last holder of the pipe. */
	if (s->state == SESSION_STARTING && s->error.code != ERROR_NONE)
		session_end(s, NULL);
}

void session_watch_reports(struct session *s, int fd)
{
	int r = uv_poll_init(&s->monitor->loop, &s->report, fd);

	if (r < 0) {
		struct error e = ERROR_INIT;

		fd_close(fd);
		error_set(&e, ERROR_INTERNAL, -r, "launch", "", "The reports of isod-launch cannot be watched: %s.",
			  strerror(-r));
		session_end(s, &e);
		return;
	}
	s->report_fd = fd;
	uv_poll_start(&s->report, UV_READABLE, on_report);
	uv_timer_start(&s->timer, on_start_overdue, LIMIT_START_SECONDS * 1000, 0);
}
