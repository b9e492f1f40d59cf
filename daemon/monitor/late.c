#include "daemon/monitor/late.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/linux/late/late_map.h"
#include "daemon/linux/late/late_pins.h"
#include "daemon/monitor/child_spawn.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/session.h"
#include "daemon/wire/late.h"
#include "daemon/wire/late_wire.h"

/* Refusals read in one turn of the loop: others are served in between. */
#define TURN_MAX 64
/* Told of one session in ten seconds; the others are counted. */
#define TOLD_MAX 64
#define TOLD_MS 10000

/* Half a second on a processor of today; under emulation ten. */
#define ANSWER_MS 60000

static int wait_for_answer(struct late *late, int socket, struct error *e)
{
	struct pollfd answered = { .fd = socket, .events = POLLIN };
	struct late_answer answer;
	int fds[LATE_ANSWER_FDS];
	size_t n_fds = LATE_ANSWER_FDS;
	ssize_t n;

	if (poll(&answered, 1, ANSWER_MS) <= 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, ETIMEDOUT, "late guard", "",
				 "isod-late gives no answer.");
	n = fd_pass_receive(socket, &answer, sizeof(answer), fds, &n_fds);
	if (n != sizeof(answer))
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, n < 0 ? (int)-n : 0, "late guard", "",
				 "isod-late ended without an answer.");
	error_sanitise(&answer.error);
	if (answer.error.code != ERROR_NONE || n_fds != LATE_ANSWER_FDS) {
		for (size_t i = 0; i < n_fds; i++)
			fd_close(fds[i]);
		*e = answer.error;
		return -EOPNOTSUPP;
	}
	late->sessions = fds[LATE_ANSWER_SESSIONS];
	late->events = fds[LATE_ANSWER_EVENTS];
	late->folders = fds[LATE_ANSWER_FOLDERS];
	return 0;
}

void late_open(struct late *late, const char *libexec, const char *tag, int null)
{
	const char *const argv[] = { "isod-late", tag, NULL };
	struct error e = ERROR_INIT;
	int ends[2];
	pid_t pid;

	late_pins_path(tag, late->pins, sizeof(late->pins));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		log_warning("late guard: %s", strerror(errno));
		return;
	}
	const struct helper_fd fds[] = { { null, 0 }, { null, 1 }, { 2, 2 }, { ends[1], LATE_FD_ANSWER } };

	pid = helper_spawn(libexec, argv, fds, sizeof(fds) / sizeof(fds[0]));
	fd_close(ends[1]);
	if (pid == -ENOENT)
		log_info("late files are not refused by the kernel: isod-late is not built");
	else if (pid < 0)
		log_warning("late files are not refused by the kernel: isod-late: %s", strerror(-pid));
	else if (wait_for_answer(late, ends[0], &e) < 0)
		log_info("late files are not refused by the kernel: %s", e.message);
	else
		log_info("late files are refused by the kernel, as was seen");
	fd_close(ends[0]);
	if (pid > 0) {
		if (!late_is_on(late))
			kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (!late_is_on(late))
		late_pins_remove(late->pins);
}

/* "…/a/b": names are cut where they do not fit, and what is more than so many levels up is not known. */
static void write_path(const struct late_refusal *refusal, char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "\xe2\x80\xa6");

	for (unsigned i = LATE_REFUSAL_NAMES; i-- > 0 && n < size;) {
		const char *name = refusal->names[i];

		if (name[0])
			n += (size_t)snprintf(ret + n, size - n, "/%.*s", LATE_REFUSAL_NAME, name);
	}
}

/* Whether one more may be told now. */
static bool has_turn(struct late_telling *t, uint64_t now)
{
	if (now - t->since >= TOLD_MS) {
		t->since = now;
		t->told = 0;
	}
	return t->told < TOLD_MAX;
}

static void tell(void *data, const struct late_refusal *refusal)
{
	struct monitor *m = data;
	struct control_message message = { .type = CONTROL_LATE };
	struct late_telling *t;
	struct session *s;

	LIST_FOREACH (s, &m->sessions.list, link)
		if (s->late_key == refusal->session)
			break;
	if (!s || !s->was_started)
		return;
	t = &s->late_telling;
	t->untold += (uint32_t)(refusal->lost - t->lost);
	t->lost = refusal->lost;
	if (!has_turn(t, uv_now(&m->loop))) {
		t->untold++;
		return;
	}
	t->told++;
	memcpy(message.id, s->id, sizeof(message.id));
	message.kind = refusal->secret ? LATE_REFUSED : LATE_PLANT_REFUSED;
	message.flags = refusal->group;
	message.value = refusal->pid;
	message.limits.pids = t->untold;
	t->untold = 0;
	write_path(refusal, message.error.message, sizeof(message.error.message));
	snprintf(message.error.step, sizeof(message.error.step), "%.*s", (int)sizeof(refusal->comm), refusal->comm);
	control_link_send(&m->control, &message, -1);
}

static void on_refusals(uv_poll_t *poll, int status, int events)
{
	struct monitor *m = poll->data;

	late_ring_read(&m->late.ring, TURN_MAX, tell, m);
}

void late_watch(struct monitor *m)
{
	struct late *late = &m->late;
	int r;

	if (!late_is_on(late))
		return;
	r = late_ring_open(&late->ring, late->events);
	if (r == 0)
		r = uv_poll_init(&m->loop, &late->poll, late->events);
	if (r < 0) {
		late_ring_close(&late->ring);
		log_warning("what the kernel refuses is not told: %s", strerror(-r));
		return;
	}
	late->poll.data = m;
	late->watched = true;
	uv_poll_start(&late->poll, UV_READABLE, on_refusals);
}

void late_unwatch(struct late *late)
{
	if (late->watched)
		uv_close((uv_handle_t *)&late->poll, NULL);
	late->watched = false;
}

void late_tell_rest(struct session *s)
{
	struct monitor *m = s->monitor;
	struct control_message message = { .type = CONTROL_LATE };

	if (!m->late.watched || s->late_key == 0)
		return;
	/* As many as there can be at once: what follows is not the session's, its processes are gone. */
	late_ring_read(&m->late.ring, LATE_RING_BYTES / sizeof(struct late_refusal), tell, m);
	if (s->late_telling.untold == 0 || !s->was_started)
		return;
	memcpy(message.id, s->id, sizeof(message.id));
	message.limits.pids = s->late_telling.untold;
	control_link_send(&m->control, &message, -1);
}

void late_close(struct late *late)
{
	if (late_is_on(late))
		late_pins_remove(late->pins);
	late_ring_close(&late->ring);
	late->sessions = fd_close(late->sessions);
	late->events = fd_close(late->events);
	late->folders = fd_close(late->folders);
}

void late_forget(const struct late *late, uint32_t key)
{
	int r;

	if (key == 0 || !late_is_on(late))
		return;
	r = late_map_remove(late->sessions, key);
	if (r < 0)
		log_warning("late guard: a session's record stays: %s", strerror(-r));
}
