#include "daemon/linux/watch/launch_late_report.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "daemon/linux/launch/launch_who.h"
#include "daemon/wire/link_wire.h"

#define FREE 0
#define REMOVED 1
#define FULL (LATE_REPORT_SEEN / 4 * 3)

/* FNV-1a; who makes two paths meet hides one line about himself and gains a plainly visible other one. */
static uint64_t hash(uint32_t kind, const char *path)
{
	uint64_t h = (14695981039346656037ULL ^ kind) * 1099511628211ULL;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 1099511628211ULL;
	return h <= REMOVED ? h + 2 : h;
}

/* Where it is, or where it would be put. */
static uint64_t *place(struct launch_late_report *r, uint64_t h)
{
	uint64_t *removed = NULL;

	for (size_t i = 0; i < LATE_REPORT_SEEN; i++) {
		uint64_t *at = &r->seen[(h + i) % LATE_REPORT_SEEN];

		if (*at == h)
			return at;
		if (*at == FREE)
			return removed ? removed : at;
		if (*at == REMOVED && !removed)
			removed = at;
	}
	return removed;
}

/* True where it was not known. A full table forgets nothing, so that newer ones may be told twice. */
static bool add(struct launch_late_report *r, uint32_t kind, const char *path)
{
	uint64_t h = hash(kind, path), *at = place(r, h);

	if (at && *at == h)
		return false;
	if (at && r->n_seen < FULL) {
		*at = h;
		r->n_seen++;
	}
	return true;
}

static int64_t seconds(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec;
}

void launch_late_report_init(struct launch_late_report *r, int link_fd)
{
	memset(r, 0, sizeof(*r));
	r->link_fd = link_fd;
	for (size_t i = 0; i < LATE_CLASSES; i++)
		r->tokens[i] = LATE_REPORT_BURST;
	r->refilled = seconds();
}

bool launch_late_report_know(struct launch_late_report *r, uint32_t kind, const char *path)
{
	add(r, kind, path);
	return launch_late_report_knows(r, kind, path);
}

bool launch_late_report_knows(struct launch_late_report *r, uint32_t kind, const char *path)
{
	uint64_t h = hash(kind, path), *at = place(r, h);

	return at && *at == h;
}

void launch_late_report_forget(struct launch_late_report *r, uint32_t kind, const char *path)
{
	uint64_t h = hash(kind, path), *at = place(r, h);

	if (!at || *at != h)
		return;
	*at = REMOVED;
	r->n_seen--;
}

static void refill(struct launch_late_report *r)
{
	int64_t now = seconds(), passed = now - r->refilled;

	if (passed <= 0)
		return;
	r->refilled = now;
	for (size_t i = 0; i < LATE_CLASSES; i++) {
		unsigned *tokens = &r->tokens[i];

		*tokens =
			passed > LATE_REPORT_BURST ? LATE_REPORT_BURST : *tokens + (unsigned)passed * LATE_REPORT_RATE;
		if (*tokens > LATE_REPORT_BURST)
			*tokens = LATE_REPORT_BURST;
	}
}

static int send_event(int link_fd, struct late_event *e, int flags)
{
	struct iovec iov = { .iov_base = e, .iov_len = late_event_size(e) };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	e->type = LINK_LATE;
	do
		n = sendmsg(link_fd, &message, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int launch_late_report_event(int link_fd, struct late_event *e)
{
	return send_event(link_fd, e, 0);
}

int launch_late_report_rest(struct launch_late_report *r, bool last)
{
	struct late_event e = { .kind = LATE_MORE, .count = r->held_back };
	unsigned *tokens = &r->tokens[late_event_class(LATE_MORE, 0)];
	int result;

	if (r->held_back == 0)
		return 0;
	refill(r);
	if (!last && (*tokens == 0 || seconds() == r->counted))
		return 0;
	result = send_event(r->link_fd, &e, last ? 0 : MSG_DONTWAIT);
	if (result == -EAGAIN)
		return 0;
	r->held_back = 0;
	r->counted = r->refilled;
	if (*tokens > 0)
		(*tokens)--;
	return result;
}

/* Without a token or without room it is only counted. */
static int tell(struct launch_late_report *r, struct late_event *e)
{
	unsigned *tokens = &r->tokens[late_event_class(e->kind, e->group)];
	int result;

	refill(r);
	/* -EAGAIN: no room, and not to be waited for: isod-session may be busy, and an open may be waiting for us. */
	result = *tokens > 0 ? send_event(r->link_fd, e, MSG_DONTWAIT) : -EAGAIN;
	if (result == -EAGAIN) {
		r->held_back++;
		return 0;
	}
	if (result == 0)
		(*tokens)--;
	return result;
}

int launch_late_report_path(struct launch_late_report *r, uint32_t kind, uint32_t group, pid_t pid, const char *path)
{
	struct late_event e = { .kind = kind, .group = group, .pid = pid };
	size_t len = strnlen(path, sizeof(e.path));

	if (len == sizeof(e.path) || !add(r, kind, path))
		return 0;
	e.path_len = (uint32_t)len;
	memcpy(e.path, path, len);
	if (pid > 0 && r->tokens[late_event_class(kind, group)] > 0)
		launch_who_program(pid, e.program, sizeof(e.program));
	return tell(r, &e);
}

int launch_late_report_state(struct launch_late_report *r, uint32_t way, uint32_t reason)
{
	struct late_event e = { .kind = LATE_STATE, .way = way, .reason = reason };

	return send_event(r->link_fd, &e, 0);
}

int launch_late_report_lost(struct launch_late_report *r)
{
	struct late_event e = { .kind = LATE_LOST };

	return tell(r, &e);
}
