#include "daemon/monitor/session_start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/monitor/agent_check.h"
#include "daemon/monitor/monitor.h"
#include "daemon/monitor/child_spawn.h"
#include "daemon/monitor/layers.h"
#include "daemon/monitor/record_check.h"
#include "daemon/monitor/stdio_check.h"
#include "daemon/monitor/tree_remove.h"
#include "daemon/wire/context.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/plan.h"
#include "daemon/wire/proxy_auth.h"
#include "daemon/wire/proxy_ca.h"

#define FLAGS_KNOWN                                                                                                    \
	(CONTROL_START_PTY | CONTROL_START_NESTING | CONTROL_START_SSH | CONTROL_START_PROXY | CONTROL_START_GPG |     \
	 CONTROL_START_PROXY_TLS | CONTROL_START_RECORD | CONTROL_START_RECORD_INPUT | CONTROL_START_DETACHED)

enum { AT_PLAN, AT_EGRESS, AT_STDIO, N_STDIO = 3, N_AGENT = 2 };

/* One start while it is put together; every descriptor here is closed at its end, the helpers have their copies. */
struct start {
	struct monitor *monitor;
	const struct control_message *message;
	const struct peer *peer;
	const int *fds;
	size_t at_ssh;    /* in .fds: the rules, then the socket, with CONTROL_START_SSH */
	size_t at_gpg;    /* the same with CONTROL_START_GPG */
	size_t at_proxy;  /* in .fds, with CONTROL_START_PROXY */
	size_t at_record; /* with CONTROL_START_RECORD */
	int proxy_auth;   /* -1: none */
	int proxy_ca;     /* -1: none */
	int link[2];      /* launch, session */
	int control[2];   /* session, control */
	int report[2];
	int context;
	int session_context;
	int scratch;
	char *kept; /* what the layer that is to be kept lies over; NULL: none */
	int layer;
	int groups[CGROUP_MAX];
	unsigned n_groups;
	bool unified; /* the last of them */
	struct cgroup_leaf cgroup;
	struct etc_layer *etc;
};

static bool plan_fits(const struct plan *plan, const struct control_message *message)
{
	return plan->uid == message->uid && strcmp(plan->id, message->id) == 0 &&
	       !!(plan->flags & PLAN_PTY) == !!(message->flags & CONTROL_START_PTY) &&
	       !!(plan->flags & PLAN_NESTING) == !!(message->flags & CONTROL_START_NESTING) &&
	       !!(plan->flags & PLAN_SSH) == !!(message->flags & CONTROL_START_SSH) &&
	       !!(plan->flags & PLAN_GPG) == !!(message->flags & CONTROL_START_GPG);
}

/* 0; -EPROTO where control cannot mean it; -EBADMSG with *e where a plan is not well-formed. */
static int check_plan(struct start *st, struct error *e)
{
	_cleanup_free_ void *block = NULL;
	struct plan plan;
	const void *data;
	size_t len;
	int r = fd_sealed_map(st->fds[AT_PLAN], LIMIT_PLAN, &data, &len);

	if (r == -ENOMEM)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "plan", "", "There is no memory for the plan.");
	if (r < 0)
		return -EPROTO;
	r = plan_decode(data, len, &plan, &block, e);
	if (r == 0 && !plan_fits(&plan, st->message))
		r = -EPROTO;
	else if (r < 0)
		error_set(e, ERROR_INTERNAL, -r, "plan", "", "The plan cannot be read: %s.", strerror(-r));
	if (r == 0 && layers_kept(&plan)) {
		st->kept = strdup(layers_kept(&plan));
		if (!st->kept)
			r = error_set(e, ERROR_INTERNAL, ENOMEM, "plan", "", "There is no memory for the plan.");
	}
	munmap((void *)data, len);
	return r;
}

/* Another uid's plan, an unknown connection, a known id: none of it can be a mistake of a user. */
static int check_message(struct start *st, size_t n_fds)
{
	const struct control_message *message = st->message;
	struct monitor *m = st->monitor;

	st->peer = peers_find(&m->peers, message->connection);
	if (!st->peer || st->peer->uid != message->uid || message->flags & ~FLAGS_KNOWN ||
	    (message->flags & CONTROL_START_PROXY_TLS && !(message->flags & CONTROL_START_PROXY)) ||
	    (message->flags & CONTROL_START_RECORD_INPUT && !(message->flags & CONTROL_START_RECORD)))
		return -EPROTO;
	st->at_ssh = AT_STDIO + (message->flags & CONTROL_START_PTY ? 0 : N_STDIO);
	st->at_gpg = st->at_ssh + (message->flags & CONTROL_START_SSH ? N_AGENT : 0);
	st->at_proxy = st->at_gpg + (message->flags & CONTROL_START_GPG ? N_AGENT : 0);
	st->at_record = st->at_proxy + (message->flags & CONTROL_START_PROXY ? 1 : 0);
	if (n_fds != st->at_record + (message->flags & CONTROL_START_RECORD ? 1 : 0))
		return -EPROTO;
	return sessions_find(&m->sessions, message->id) ? -EPROTO : 0;
}

static int check_permitted(const struct start *st, struct error *e)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	struct monitor *m = st->monitor;
	int r = 0;

	if (m->probe.unavailable.code != ERROR_NONE) {
		*e = m->probe.unavailable;
		return -EOPNOTSUPP;
	}
	if (m->stopping)
		return error_set(e, ERROR_REFUSED, ECANCELED, "start", "", "isod is ending.");
	if (m->sessions.count >= LIMIT_SESSIONS)
		return error_set(e, ERROR_LIMIT, EDQUOT, "start", "End some sessions first.",
				 "%u sessions run, as many as isod holds.", m->sessions.count);
	if (sessions_count_of(&m->sessions, st->peer->uid) >= LIMIT_SESSIONS_PER_UID)
		return error_set(e, ERROR_LIMIT, EDQUOT, "start", "End some of them first.",
				 "You have %u sessions, as many as one user may.", LIMIT_SESSIONS_PER_UID);
	for (unsigned i = 0; i < ARRAY_SIZE(names) && r == 0 && !(st->message->flags & CONTROL_START_PTY); i++)
		r = stdio_check(st->fds[AT_STDIO + i], names[i], e);
	if (r == 0 && st->message->flags & CONTROL_START_SSH)
		r = agent_check("ssh-agent", st->fds[st->at_ssh + 1], st->peer->uid, e);
	if (r == 0 && st->message->flags & CONTROL_START_GPG)
		r = agent_check("gpg-agent", st->fds[st->at_gpg + 1], st->peer->uid, e);
	if (r == 0 && st->message->flags & CONTROL_START_RECORD)
		r = record_check(st->fds[st->at_record], e);
	return r;
}

/* In a sealed file of its own, so that the helper gets no descriptor of the administrator's file. */
static int take_proxy_auth(struct start *st, struct error *e)
{
	char name[PROXY_AUTH_NAME_MAX + 2], line[LIMIT_PROXY_AUTH + 1];
	int r;

	snprintf(name, sizeof(name), "%.*s", PROXY_AUTH_NAME_MAX + 1, st->message->error.message);
	if (!(st->message->flags & CONTROL_START_PROXY) || name[0] == '\0')
		return 0;
	r = proxy_auth_read(st->monitor->place.config, name, line, e);
	if (r < 0)
		return r;
	r = st->proxy_auth = fd_sealed_new("proxy-auth", line, strlen(line));
	explicit_bzero(line, sizeof(line));
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "upstreamProxy", "", "No memory file: %s.", strerror(-r)) : 0;
}

static int take_proxy_ca(struct start *st, struct error *e)
{
	_cleanup_free_ char *text = NULL;
	char name[PROXY_AUTH_NAME_MAX + 2];
	size_t len;
	int r;

	snprintf(name, sizeof(name), "%.*s", PROXY_AUTH_NAME_MAX + 1, st->message->error.step);
	if (!(st->message->flags & CONTROL_START_PROXY_TLS) || name[0] == '\0')
		return 0;
	r = proxy_ca_read(st->monitor->place.config, name, &text, &len, e);
	if (r < 0)
		return r;
	r = st->proxy_ca = fd_sealed_new("proxy-ca", text, len);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "upstreamProxy", "", "No memory file: %s.", strerror(-r)) : 0;
}

static int make_contexts(struct start *st)
{
	const struct peer *peer = st->peer;
	const struct monitor *m = st->monitor;
	size_t size = sizeof(struct launch_context) + peer->n_groups * sizeof(uint32_t);
	_cleanup_free_ struct launch_context *launch = calloc(1, size);
	struct session_context session = {
		.size = sizeof(session),
		.net_uid = m->net_user.uid,
		.net_gid = m->net_user.gid,
		.uid = peer->uid,
		.flags = (m->probe.landlock_abi > 0 ? SESSION_HAS_LANDLOCK : 0) |
			 (st->message->flags & CONTROL_START_PTY ? SESSION_HAS_PTY : 0) |
			 (st->message->flags & CONTROL_START_SSH ? SESSION_HAS_SSH : 0) |
			 (st->message->flags & CONTROL_START_PROXY ? SESSION_HAS_PROXY : 0) |
			 (st->proxy_auth >= 0 ? SESSION_HAS_PROXY_AUTH : 0) |
			 (st->message->flags & CONTROL_START_PROXY_TLS ? SESSION_HAS_PROXY_TLS : 0) |
			 (st->proxy_ca >= 0 ? SESSION_HAS_PROXY_CA : 0) |
			 (st->message->flags & CONTROL_START_GPG ? SESSION_HAS_GPG : 0) |
			 (st->message->flags & CONTROL_START_RECORD ? SESSION_HAS_RECORD : 0) |
			 (st->message->flags & CONTROL_START_RECORD_INPUT ? SESSION_RECORD_INPUT : 0) |
			 (st->message->flags & CONTROL_START_DETACHED ? SESSION_DETACHED : 0),
		.record_max = st->message->limits.record,
	};

	if (!launch)
		return -ENOMEM;
	*launch = (struct launch_context){
		.size = size,
		.uid = peer->uid,
		.gid = peer->gid,
		.net_uid = m->net_user.uid,
		.net_gid = m->net_user.gid,
		.n_cgroups = st->n_groups,
		.flags = (m->probe.landlock_abi > 0 ? LAUNCH_HAS_LANDLOCK : 0) |
			 (late_is_on(&m->late) ? LAUNCH_HAS_LATE : 0) | (st->unified ? LAUNCH_HAS_UNIFIED : 0),
		.n_groups = peer->n_groups,
		.files_soft = m->files_soft,
	};
	for (uint32_t i = 0; i < peer->n_groups; i++)
		launch->groups[i] = peer->groups[i];
	memcpy(session.id, st->message->id, sizeof(session.id));
	st->context = fd_sealed_new("launch-context", launch, size);
	st->session_context = fd_sealed_new("session-context", &session, sizeof(session));
	return st->context < 0 ? st->context : (st->session_context < 0 ? st->session_context : 0);
}

static int make_scratch(struct start *st)
{
	int sessions = st->monitor->place.sessions;

	if (mkdirat(sessions, st->message->id, 0700) < 0)
		return -errno;
	st->scratch = openat(sessions, st->message->id, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (st->scratch < 0) {
		int r = -errno;

		unlinkat(sessions, st->message->id, AT_REMOVEDIR);
		return r;
	}
	return 0;
}

static int make_channels(struct start *st)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st->link) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st->control) < 0 || pipe2(st->report, O_CLOEXEC) < 0)
		return -errno;
	return fd_set_nonblock(st->report[0], true);
}

/* Everything that the helpers need, in the order in which it is cheapest to give back. */
static int prepare(struct start *st, struct error *e)
{
	const struct control_message *message = st->message;
	const struct cgroup_limits limits = {
		.memory = message->limits.memory,
		.pids = message->limits.pids,
		.cpu_pct = message->limits.cpu_pct,
	};
	int r = take_proxy_auth(st, e);

	if (r == 0)
		r = take_proxy_ca(st, e);
	if (r < 0)
		return r;
	r = make_channels(st);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "channels", "", "No channels: %s.", strerror(-r));
	r = cgroup_leaf_make(&st->monitor->cgroups, message->id, &limits, &st->cgroup, e);
	if (r < 0)
		return r;
	r = cgroup_leaf_open_ways(&st->cgroup, st->groups, &st->unified);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "cgroup", "", "The control group cannot be opened: %s.",
				 strerror(-r));
	st->n_groups = (unsigned)r;
	r = make_contexts(st);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "context", "", "No memory file: %s.", strerror(-r));
	r = etc_layers_take(&st->monitor->etc, &st->etc);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "etc", "", "The layer over /etc cannot be built: %s.",
				 strerror(-r));
	r = make_scratch(st);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "scratch", "Look for room in the state folder of isod.",
				 "The session's scratch folder cannot be made: %s.", strerror(-r));
	if (!st->kept)
		return 0;
	st->layer = layers_make(&st->monitor->place, message->id, st->peer->uid, st->kept, e);
	return st->layer < 0 ? st->layer : 0;
}

static pid_t spawn_session(const struct start *st)
{
	const bool ssh = st->message->flags & CONTROL_START_SSH, proxy = st->message->flags & CONTROL_START_PROXY;
	const bool gpg = st->message->flags & CONTROL_START_GPG;
	const bool tls = st->message->flags & CONTROL_START_PROXY_TLS;
	const bool record = st->message->flags & CONTROL_START_RECORD;
	const char *const argv[] = { tls ? "isod-session-tls" : ssh ? "isod-session-ssh" : "isod-session", NULL };
	const struct monitor *m = st->monitor;
	const struct helper_fd fds[] = {
		{ m->files.null, 0 },
		{ m->files.null, 1 },
		{ 2, 2 },
		{ st->control[0], SESSION_FD_CONTROL },
		{ st->link[1], SESSION_FD_LINK },
		{ st->fds[AT_EGRESS], SESSION_FD_EGRESS },
		{ st->session_context, SESSION_FD_CONTEXT },
		{ m->files.seccomp_session, SESSION_FD_SECCOMP },
		{ ssh ? st->fds[st->at_ssh] : m->files.null, SESSION_FD_SSH },
		{ ssh ? st->fds[st->at_ssh + 1] : m->files.null, SESSION_FD_AGENT },
		{ gpg ? st->fds[st->at_gpg] : m->files.null, SESSION_FD_GPG },
		{ gpg ? st->fds[st->at_gpg + 1] : m->files.null, SESSION_FD_GPG_AGENT },
		{ proxy ? st->fds[st->at_proxy] : m->files.null, SESSION_FD_PROXY },
		{ st->proxy_auth < 0 ? m->files.null : st->proxy_auth, SESSION_FD_PROXY_AUTH },
		{ st->proxy_ca < 0 ? m->files.null : st->proxy_ca, SESSION_FD_PROXY_CA },
		{ record ? st->fds[st->at_record] : m->files.null, SESSION_FD_RECORD },
	};

	return helper_spawn(m->options.libexec, argv, fds, ARRAY_SIZE(fds));
}

static pid_t spawn_launch(const struct start *st)
{
	static const char *const argv[] = { "isod-launch", NULL };
	const struct monitor *m = st->monitor;
	const bool pty = st->message->flags & CONTROL_START_PTY;
	const bool nesting = st->message->flags & CONTROL_START_NESTING;
	struct helper_fd fds[LAUNCH_FD_END] = {
		{ pty ? m->files.null : st->fds[AT_STDIO], 0 },
		{ pty ? m->files.null : st->fds[AT_STDIO + 1], 1 },
		{ pty ? m->files.null : st->fds[AT_STDIO + 2], 2 },
		{ st->fds[AT_PLAN], LAUNCH_FD_PLAN },
		{ st->context, LAUNCH_FD_CONTEXT },
		{ st->report[1], LAUNCH_FD_REPORT },
		{ st->link[0], LAUNCH_FD_LINK },
		{ m->files.ruleset, LAUNCH_FD_RULESET },
		{ nesting ? m->files.seccomp_nesting : m->files.seccomp, LAUNCH_FD_SECCOMP },
		{ st->etc->fd, LAUNCH_FD_ETC },
		{ st->scratch, LAUNCH_FD_SCRATCH },
		{ st->layer < 0 ? m->files.null : st->layer, LAUNCH_FD_LAYERS },
		{ late_is_on(&m->late) ? m->late.sessions : m->files.null, LAUNCH_FD_LATE_SESSIONS },
		{ late_is_on(&m->late) ? m->late.folders : m->files.null, LAUNCH_FD_LATE_FOLDERS },
	};
	size_t n = LAUNCH_FD_CGROUP;

	for (unsigned i = 0; i < st->n_groups; i++)
		fds[n++] = (struct helper_fd){ st->groups[i], LAUNCH_FD_CGROUP + (int)i };
	return helper_spawn(m->options.libexec, argv, fds, n);
}

static int run_helper(struct session *s, struct child *child, pid_t pid, const char *name)
{
	int r = pid < 0 ? pid : child_watch(child, &s->monitor->loop, pid, session_child_ended, s);

	if (r < 0)
		error_set(&s->error, ERROR_INTERNAL, -r, name, "Install isod again if it is missing.",
			  "%s cannot be started: %s.", name, strerror(-r));
	return r;
}

/* From here on the record owns what was made, and a failure is one more way for a session to end. */
static void run(struct start *st, struct session *s)
{
	s->cgroup = st->cgroup;
	st->cgroup = (struct cgroup_leaf)CGROUP_LEAF_INIT;
	s->control_end = take_fd(&st->control[1]);
	/* Without it nothing can join later, which is told then. */
	(void)session_join_keep(s, st->fds[AT_PLAN], st->context, st->message->flags & CONTROL_START_NESTING);
	s->keeps_layer = st->layer >= 0;
	/* isod-launch first: it has the longer way to go, and isod stands still while a program is being started. */
	if (run_helper(s, &s->launch, spawn_launch(st), "isod-launch") == 0 &&
	    run_helper(s, &s->helper, spawn_session(st), "isod-session") == 0)
		session_watch_reports(s, take_fd(&st->report[0]));
	else
		session_end(s, NULL);
	s->etc = take_ptr(st->etc);
}

static void start_done(struct start *st)
{
	for (unsigned i = 0; i < 2; i++) {
		fd_close(st->link[i]);
		fd_close(st->control[i]);
		fd_close(st->report[i]);
	}
	for (unsigned i = 0; i < st->n_groups; i++)
		fd_close(st->groups[i]);
	fd_close(st->proxy_auth);
	fd_close(st->proxy_ca);
	fd_close(st->context);
	fd_close(st->session_context);
	fd_close(st->scratch);
	fd_close(st->layer);
	free(st->kept);
	etc_layer_put(st->etc);
	cgroup_leaf_remove(&st->cgroup);
	cgroup_leaf_close(&st->cgroup);
}

static void tell_failure(struct monitor *m, const struct control_message *message, const struct error *e)
{
	struct control_message answer = { .type = CONTROL_SESSION_FAILED, .error = *e };

	memcpy(answer.id, message->id, sizeof(answer.id));
	control_link_send(&m->control, &answer, -1);
}

int session_start(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds)
{
	struct start st = {
		.monitor = m,
		.message = message,
		.fds = fds,
		.link = { -1, -1 },
		.control = { -1, -1 },
		.report = { -1, -1 },
		.proxy_auth = -1,
		.proxy_ca = -1,
		.context = -1,
		.session_context = -1,
		.scratch = -1,
		.layer = -1,
		.cgroup = CGROUP_LEAF_INIT,
	};
	struct error e = ERROR_INIT;
	struct session *s = NULL;
	int r = check_message(&st, n_fds);

	if (r < 0)
		return r;
	r = check_plan(&st, &e);
	if (r == -EPROTO)
		return r;
	if (r == 0)
		r = check_permitted(&st, &e);
	if (r == 0)
		r = prepare(&st, &e);
	if (r == 0) {
		s = session_new(m, message->id, st.peer->uid);
		if (s)
			run(&st, s);
		else
			r = error_set(&e, ERROR_INTERNAL, ENOMEM, "start", "", "There is no memory for a session.");
	}
	if (r < 0) {
		if (st.scratch >= 0)
			unlinkat(m->place.sessions, message->id, AT_REMOVEDIR);
		if (st.layer >= 0)
			tree_remove(m->place.layers, message->id);
		tell_failure(m, message, &e);
	}
	start_done(&st);
	return 0;
}
