#include "daemon/monitor/monitor.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "daemon/linux/filter/nft_rules.h"
#include "daemon/linux/probe/probe_rights.h"
#include "daemon/linux/filter/seccomp_rules.h"
#include "daemon/linux/filter/seccomp_session.h"
#include "daemon/monitor/layers.h"
#include "daemon/monitor/peer_home.h"

/* While so many messages wait for isod-control, new clients wait too. */
#define QUEUE_LONG 64
#define REFUSAL_LOG_MS 1000

static int find_user(const char *name, struct monitor_user *ret, struct error *e)
{
	const struct passwd *entry;

	errno = 0;
	entry = getpwnam(name);
	if (!entry)
		return error_set(e, ERROR_INVALID, errno ? errno : ENOENT, "users", "Run `setup install`.",
				 "There is no user %s.", name);
	if (entry->pw_uid == 0 || entry->pw_gid == 0)
		return error_set(e, ERROR_INVALID, EPERM, "users", "", "The user %s must not be root.", name);
	*ret = (struct monitor_user){ entry->pw_uid, entry->pw_gid };
	return 0;
}

static int find_users(struct monitor *m, struct error *e)
{
	int r = find_user(m->options.user, &m->control_user, e);

	if (r == 0)
		r = find_user(m->options.net_user, &m->net_user, e);
	if (r == 0 && m->control_user.uid == m->net_user.uid)
		r = error_set(e, ERROR_INVALID, EINVAL, "users", "", "--user and --net-user must be two users.");
	return r;
}

static int make_seccomp(bool nesting, int *ret)
{
	_cleanup_buffer_ struct buffer code = BUFFER_INIT(SECCOMP_RULES_MAX);
	int r = seccomp_rules_build(nesting, &code);

	*ret = r < 0 ? r : fd_sealed_new(nesting ? "seccomp-nesting" : "seccomp", code.data, code.len);
	return *ret < 0 ? *ret : 0;
}

static int make_session_seccomp(int *ret)
{
	_cleanup_buffer_ struct buffer code = BUFFER_INIT(SECCOMP_RULES_MAX);
	int r = seccomp_session_build(&code);

	*ret = r < 0 ? r : fd_sealed_new("seccomp-session", code.data, code.len);
	return *ret < 0 ? *ret : 0;
}

/* What is the same for every session, and whether this machine can have any. */
static int make_files(struct monitor *m, struct error *e)
{
	_cleanup_buffer_ struct buffer batch = BUFFER_INIT(NFT_RULES_MAX);
	int r = nft_rules_build(&batch);

	if (r == 0) {
		m->files.ruleset = fd_sealed_new("ruleset", batch.data, batch.len);
		r = m->files.ruleset < 0 ? m->files.ruleset : 0;
	}
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "ruleset", "", "No ruleset: %s.", strerror(-r));
	r = make_seccomp(false, &m->files.seccomp);
	if (r == 0)
		r = make_seccomp(true, &m->files.seccomp_nesting);
	if (r == 0)
		r = make_session_seccomp(&m->files.seccomp_session);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "seccomp", "", "No system call filter: %s.", strerror(-r));
	r = etc_layers_open(&m->etc, m->place.run);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "etc", "", "The layer over /etc cannot be built: %s.",
				 strerror(-r));
	m->files.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (m->files.null < 0)
		return error_set(e, ERROR_INTERNAL, errno, "null", "", "/dev/null: %s.", strerror(errno));
	probe_kernel(batch.data, batch.len, &m->probe);
	if (m->probe.landlock_abi > 0)
		log_info("Landlock ABI %d is enforced in every session", m->probe.landlock_abi);
	else
		log_warning("no Landlock in this kernel that sessions can use: mounts and system call filters alone");
	if (m->probe.unavailable.code != ERROR_NONE)
		log_error("no session can be started: %s (%s)", m->probe.unavailable.message,
			  m->probe.unavailable.step);
	return 0;
}

static int open_cgroups(struct monitor *m, struct error *e)
{
	int r = cgroup_host_open(&m->cgroups, "/sys/fs/cgroup", m->place.tag);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "cgroup", "", "/sys/fs/cgroup: %s.", strerror(-r));
	cgroup_host_sweep(&m->cgroups);
	return 0;
}

/* Whoever is refused can try again without end: one line a second is enough to know. */
static void warn_of_refusal(struct monitor *m, int r)
{
	uint64_t now = uv_now(&m->loop);

	if (m->refused_ms != 0 && now < m->refused_ms + REFUSAL_LOG_MS)
		return;
	m->refused_ms = now;
	log_warning("a connection was closed: %s", strerror(-r));
}

static void on_connection(struct listener *l, int fd)
{
	struct monitor *m = l->owner;
	struct control_message message = { .type = CONTROL_PEER };
	const struct peer *peer;
	int r = peers_add(&m->peers, fd, &peer);

	if (r == 0) {
		r = peer_home_check(fd, peer->pid);
		if (r < 0)
			peers_remove(&m->peers, peer->number);
		if (r == -EPERM)
			peer_home_refuse(fd);
	}
	if (r < 0) {
		warn_of_refusal(m, r);
		fd_close(fd);
		return;
	}
	message.connection = peer->number;
	message.uid = peer->uid;
	message.gid = peer->gid;
	message.pid = peer->pid;
	control_link_send(&m->control, &message, fd);
}

static int open_listener(struct monitor *m, struct error *e)
{
	char *path = NULL;
	int fd = listener_inherit(e), r;

	if (fd == -ENOENT) {
		if (m->options.socket)
			path = strdup(m->options.socket);
		else if (asprintf(&path, "%s/isod.sock", m->options.run_dir) < 0)
			path = NULL;
		if (!path)
			return error_set(e, ERROR_INTERNAL, ENOMEM, "socket", "", "There is no memory.");
		fd = listener_bind(path, e);
	}
	r = fd < 0 ? fd : listener_open(&m->listener, &m->loop, fd, path);
	if (r < 0) {
		free(path);
		return error_set(e, ERROR_INTERNAL, -r, "socket", "", "The socket cannot be watched: %s.",
				 strerror(-r));
	}
	m->listener.on_connection = on_connection;
	m->listener.owner = m;
	return 0;
}

int monitor_open(struct monitor *m, const struct options *options, struct error *e)
{
	int r;

	*m = (struct monitor){
		.options = *options,
		.place = PLACE_INIT,
		.files = { -1, -1, -1, -1, -1 },
		.etc = ETC_LAYERS_INIT,
		.probe = { .network = -1 },
		.late = LATE_INIT,
		.cgroups = CGROUP_HOST_INIT,
		.peers = PEERS_INIT,
		.sessions = SESSIONS_INIT,
		.listener = { .fd = -1 },
	};
	r = probe_rights_check(PROBE_RIGHTS_START, e);
	if (r == 0)
		r = find_users(m, e);
	if (r == 0)
		r = place_open(&m->place, options->run_dir, options->state_dir, options->config_dir,
			       m->control_user.uid, m->control_user.gid, e);
	if (r == 0)
		r = make_files(m, e);
	if (r == 0)
		r = open_cgroups(m, e);
	/* After the sweep of the control groups: sessions of an earlier run are still under the guard of that one. */
	if (r == 0)
		late_open(&m->late, m->options.libexec, m->place.tag, m->files.null);
	return r;
}

void monitor_done(struct monitor *m)
{
	fd_close(m->files.ruleset);
	fd_close(m->files.seccomp);
	fd_close(m->files.seccomp_nesting);
	fd_close(m->files.seccomp_session);
	late_close(&m->late);
	etc_layers_close(&m->etc);
	fd_close(m->files.null);
	fd_close(m->probe.network);
	cgroup_host_close(&m->cgroups);
	peers_clear(&m->peers);
	place_close(&m->place);
}

void monitor_update_listener(struct monitor *m)
{
	listener_accept(&m->listener,
			!m->stopping && m->control.state == CONTROL_UP && m->control.n_queued < QUEUE_LONG);
}

/* ---- the end ---- */

static void close_all(struct monitor *m)
{
	control_link_close(&m->control);
	late_unwatch(&m->late);
	uv_close((uv_handle_t *)&m->terminate, NULL);
	uv_close((uv_handle_t *)&m->interrupt, NULL);
}

/*
 * A launcher killed between making pid 1 and telling its number leaves a child that no record knows; it has ended since
 * its link is gone. With no session left, every ended child but isod-control is such a one.
 */
static void reap_strays(const struct monitor *m)
{
	siginfo_t info = { 0 };

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid > 0 &&
	       info.si_pid != m->control.process.pid) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

void monitor_session_gone(struct monitor *m)
{
	if (m->sessions.count > 0)
		return;
	reap_strays(m);
	if (m->stopping)
		close_all(m);
}

static void stop(struct monitor *m)
{
	if (m->stopping)
		return;
	m->stopping = true;
	listener_close(&m->listener);
	sessions_end_all(m);
	if (m->sessions.count == 0)
		close_all(m);
}

static void on_signal(uv_signal_t *handle, int number)
{
	log_info("signal %d: ending", number);
	stop(handle->data);
}

/* ---- the beginning ---- */

static void sweep(uv_work_t *work)
{
	const struct monitor *m = work->data;
	int r = place_sweep_sessions(&m->place);

	if (r < 0)
		log_warning("a scratch folder of an earlier run stays: %s", strerror(-r));
	r = layers_sweep(&m->place, true);
	if (r < 0)
		log_warning("a layer that is over stays: %s", strerror(-r));
}

static void on_swept(uv_work_t *work, int status)
{
	struct monitor *m = work->data;
	int r = m->stopping ? 0 : control_link_start(&m->control);

	if (r < 0) {
		log_error("isod-control cannot be started from %s: %s", m->options.libexec, strerror(-r));
		m->failed = true;
		stop(m);
		return;
	}
	if (!m->stopping && m->options.ready_fd >= 0) {
		if (write(m->options.ready_fd, "\n", 1) < 0)
			log_warning("nobody waits at --ready-fd: %s", strerror(errno));
		fd_close(m->options.ready_fd);
	}
}

static void watch_signal(struct monitor *m, uv_signal_t *handle, int number)
{
	uv_signal_init(&m->loop, handle);
	handle->data = m;
	uv_signal_start(handle, on_signal, number);
}

int monitor_run(struct monitor *m, struct error *e)
{
	int r = uv_loop_init(&m->loop);

	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "loop", "", "No event loop: %s.", strerror(-r));
	r = open_listener(m, e);
	if (r == 0)
		r = control_link_open(&m->control, m);
	if (r < 0) {
		uv_run(&m->loop, UV_RUN_DEFAULT);
		uv_loop_close(&m->loop);
		return r;
	}
	late_watch(m);
	watch_signal(m, &m->terminate, SIGTERM);
	watch_signal(m, &m->interrupt, SIGINT);
	m->sweep.data = m;
	uv_queue_work(&m->loop, &m->sweep, sweep, on_swept);
	uv_run(&m->loop, UV_RUN_DEFAULT);
	free((char *)m->listener.path);
	uv_loop_close(&m->loop);
	return m->failed ? error_set(e, ERROR_INTERNAL, 0, "end", "", "isod could not go on.") : 0;
}
