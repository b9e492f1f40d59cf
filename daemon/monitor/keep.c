#include "daemon/monitor/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/session.h"

void keep_drop(struct session *s)
{
	s->keep.state = fd_close(s->keep.state);
	s->keep.client = fd_close(s->keep.client);
	s->keep.there = false;
}

/* A session may have ended while the message was on its way. */
int keep_take(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	struct session *s = sessions_find(&m->sessions, message->id);
	int state, client = -1;

	if (!s || s->state == SESSION_GONE)
		return 0;
	if (!s->was_started || s->generation != m->control.generation)
		return -EPROTO;
	state = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
	if (n_fds > 1)
		client = fcntl(fds[1], F_DUPFD_CLOEXEC, 0);
	keep_drop(s);
	s->keep.state = state;
	s->keep.client = client;
	s->keep.there = state >= 0 && (n_fds < 2 || client >= 0);
	if (!s->keep.there)
		log_warning("session %s: no descriptors left; it will end with isod-control", s->id);
	return 0;
}

int keep_done(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	struct session *s = sessions_find(&m->sessions, message->id);

	if (!s)
		return 0;
	if (s->keep.there && !s->keep.told)
		return -EPROTO;
	keep_drop(s);
	session_go_on(s);
	return 0;
}

void keep_after_fall(struct monitor *m, bool may_keep)
{
	struct session *s, *next;

	for (s = LIST_FIRST(&m->sessions.list); s; s = next) {
		next = LIST_NEXT(s, link);
		s->keep.told = false;
		if (control_link_was_well(&m->control))
			s->keep.adopted = 0;
		if (may_keep && s->keep.there && !m->stopping && s->keep.adopted < LIMIT_ADOPTIONS)
			continue;
		if (s->keep.there && may_keep && !m->stopping)
			log_error("session %s: every isod-control that is given it dies; it is ended", s->id);
		keep_drop(s);
		session_end(s, NULL);
	}
}

/* Who is at the other end is asked of the kernel once more, as at accept. */
static void introduce_client(struct monitor *m, const struct session *s, struct control_message *message)
{
	const struct peer *peer;
	int r = peers_add(&m->peers, s->keep.client, &peer);

	if (r == 0 && peer->uid != s->uid) {
		(void)peers_remove(&m->peers, peer->number);
		r = -EPERM;
	}
	if (r < 0) {
		log_warning("session %s: the connection of its client is lost: %s", s->id, strerror(-r));
		return;
	}
	message->connection = peer->number;
	message->gid = peer->gid;
	message->pid = peer->pid;
}

static int adopt(struct monitor *m, struct session *s)
{
	struct control_message message = { .type = CONTROL_ADOPT, .uid = s->uid };
	const int kept[CONTROL_SEND_FDS] = { s->control_end, s->keep.state, s->keep.client };
	int fds[CONTROL_SEND_FDS];
	size_t n = s->keep.client < 0 ? 2 : 3;

	memcpy(message.id, s->id, sizeof(message.id));
	if (n == 3)
		introduce_client(m, s, &message);
	n = message.connection ? 3 : 2;
	for (size_t i = 0; i < n; i++) {
		fds[i] = fcntl(kept[i], F_DUPFD_CLOEXEC, 0);
		if (fds[i] < 0) {
			int r = -errno;

			while (i > 0)
				fd_close(fds[--i]);
			return r;
		}
	}
	s->generation = m->control.generation;
	s->keep.adopted++;
	control_link_send_fds(&m->control, &message, fds, n);
	return 0;
}

void keep_adopt(struct monitor *m)
{
	struct session *s, *next;

	for (s = LIST_FIRST(&m->sessions.list); s && m->control.state == CONTROL_UP; s = next) {
		int r;

		next = LIST_NEXT(s, link);
		if (!s->keep.there)
			continue;
		r = adopt(m, s);
		if (r < 0) {
			log_error("session %s: cannot be given to isod-control: %s; it is ended", s->id, strerror(-r));
			keep_drop(s);
			session_end(s, NULL);
			continue;
		}
		/* It may have ended meanwhile, and waited for this. */
		session_go_on(s);
	}
}
