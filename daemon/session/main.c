/* isod-session: the way out of one session (network, terminal), without rights of its own. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/sanitizer.h"
#include "daemon/session/gateway/proxy_tls.h"
#include "daemon/session/rights.h"
#include "daemon/session/session.h"
#include "daemon/wire/context.h"
#include "daemon/wire/fds.h"
#include "daemon/wire/proxy_auth.h"
#include "policy/egress_wire.h"

/* It traces its own process, which this program has given up. */
SANITIZER_NO_LEAK_CHECK

/* Bound of the kernel (BPF_MAXINSNS). */
#define FILTER_MAX (4096 * sizeof(struct sock_filter))

static int check_socket(int fd)
{
	int type = 0, domain = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
		return -errno;
	return type == SOCK_SEQPACKET && domain == AF_UNIX ? fd_set_cloexec(fd, true) : -EPROTOTYPE;
}

static int map_context(struct session_context *ret)
{
	const void *map;
	size_t len;
	int r = fd_sealed_map(SESSION_FD_CONTEXT, sizeof(*ret), &map, &len);

	if (r < 0)
		return r;
	if (len == sizeof(*ret))
		memcpy(ret, map, len);
	munmap((void *)map, len);
	return len == sizeof(*ret) && ret->size == sizeof(*ret) ? 0 : -EBADMSG;
}

static int map_filter(struct rights *ret)
{
	const void *map = NULL;
	size_t len = 0;
	int r = fd_sealed_map(SESSION_FD_SECCOMP, FILTER_MAX, &map, &len);

	if (r < 0)
		return r;
	if (len == 0 || len % sizeof(struct sock_filter) != 0)
		return -EBADMSG;
	ret->filter = map;
	ret->filter_len = len / sizeof(struct sock_filter);
	return 0;
}

/* The rules are mapped and the socket to the agent is kept; without them its place is closed. */
static int take_ssh(const struct session_context *context, struct session_setup *setup)
{
	const void *data = NULL;
	size_t len = 0;
	int r;

	if (!(context->flags & SESSION_HAS_SSH)) {
		fd_close(SESSION_FD_AGENT);
		return 0;
	}
	if (!ssh_service)
		return -ENOTSUP;
	setup->ssh = ssh_service;
	setup->lent.agent_fd = SESSION_FD_AGENT;
	r = fd_sealed_map(SESSION_FD_SSH, LIMIT_SSH_RULES, &data, &len);
	return r < 0 ? r : ssh_service->prepare(data, len, &setup->lent);
}

/* Likewise; the rules lie in what is mapped until the end. */
static int take_gpg(const struct session_context *context, struct gpg_lent *lent, struct session_setup *setup)
{
	const void *data = NULL;
	size_t len = 0;
	int r;

	if (!(context->flags & SESSION_HAS_GPG)) {
		fd_close(SESSION_FD_GPG_AGENT);
		return 0;
	}
	lent->agent_fd = SESSION_FD_GPG_AGENT;
	setup->gpg = lent;
	r = fd_sealed_map(SESSION_FD_GPG, LIMIT_GPG_KEYS * GPG_GRIP_LEN, &data, &len);
	return r < 0 ? r : gpg_rules_decode(data, len, &lent->rules);
}

/* The file of the recording is kept; without one its place is closed. */
static void take_record(const struct session_context *context, struct session_setup *setup)
{
	setup->record.fd = -1;
	if (!(context->flags & SESSION_HAS_RECORD)) {
		fd_close(SESSION_FD_RECORD);
		return;
	}
	setup->record = (struct record_options){
		.fd = SESSION_FD_RECORD,
		.max = context->record_max,
		.input = context->flags & SESSION_RECORD_INPUT,
		.id = setup->id,
		.marker =
			context->flags & SESSION_HAS_PTY ? NULL : "isod: no terminal, so only what was decided is here",
	};
}

/* What leads out, if not every connection by itself. */
struct proxy {
	struct egress_proxy way;
	char auth[PROXY_AUTH_VALUE_MAX];
};

/* Decoded after the rights are given up, as the rules are. */
struct proxy_bytes {
	const void *way, *auth, *ca;
	size_t way_len, auth_len, ca_len;
	bool tls;
};

static int map_proxy(const struct session_context *context, struct proxy_bytes *ret)
{
	int r = 0;

	if (context->flags & SESSION_HAS_PROXY)
		r = fd_sealed_map(SESSION_FD_PROXY, LIMIT_EGRESS, &ret->way, &ret->way_len);
	if (r == 0 && context->flags & SESSION_HAS_PROXY_AUTH)
		r = fd_sealed_map(SESSION_FD_PROXY_AUTH, LIMIT_PROXY_AUTH, &ret->auth, &ret->auth_len);
	if (r == 0 && context->flags & SESSION_HAS_PROXY_CA)
		r = fd_sealed_map(SESSION_FD_PROXY_CA, LIMIT_PROXY_CA, &ret->ca, &ret->ca_len);
	ret->tls = context->flags & SESSION_HAS_PROXY_TLS;
	return r == 0 && ret->tls && !proxy_tls_service ? -ENOTSUP : r;
}

static int take_proxy(const struct proxy_bytes *bytes, struct proxy *ret, struct session_setup *setup)
{
	int r;

	if (!bytes->way)
		return 0;
	r = egress_proxy_decode(bytes->way, bytes->way_len, &ret->way);
	munmap((void *)bytes->way, bytes->way_len);
	if (r == 0 && bytes->auth) {
		r = proxy_auth_value(bytes->auth, bytes->auth_len, ret->auth);
		munmap((void *)bytes->auth, bytes->auth_len);
		setup->proxy_auth = ret->auth;
	}
	setup->proxy = &ret->way;
	if (r == 0 && bytes->tls)
		r = proxy_tls_service->open(&ret->way, bytes->ca, bytes->ca_len, &setup->tls);
	if (bytes->ca)
		munmap((void *)bytes->ca, bytes->ca_len);
	return r;
}

int main(void)
{
	struct session_context context;
	struct rights rights = { .context = &context };
	struct egress_rules rules;
	struct session_setup setup = { .control_fd = SESSION_FD_CONTROL, .link_fd = SESSION_FD_LINK, .rules = &rules };
	struct error e = ERROR_INIT;
	struct gpg_lent gpg;
	struct proxy_bytes proxy_bytes = { .way = NULL };
	struct proxy proxy;
	const void *egress = NULL;
	size_t egress_len = 0;
	int r;

	log_open("isod-session", LOG_LEVEL_INFO);
	/* Before any thread. The resolver's search list is the root alone, whatever resolv.conf says: names are asked
	 * as they were judged. Half of libuv's threads may look names up at a time: two slow ones must not be all. */
	setenv("LOCALDOMAIN", ".", 1);
	setenv("UV_THREADPOOL_SIZE", "8", 1);
	r = check_socket(SESSION_FD_CONTROL);
	if (r == 0)
		r = check_socket(SESSION_FD_LINK);
	if (r == 0)
		r = map_context(&context);
	if (r == 0)
		r = map_filter(&rights);
	if (r == 0)
		r = take_ssh(&context, &setup);
	if (r == 0)
		r = take_gpg(&context, &gpg, &setup);
	if (r == 0)
		r = fd_sealed_map(SESSION_FD_EGRESS, LIMIT_EGRESS, &egress, &egress_len);
	if (r == 0)
		r = map_proxy(&context, &proxy_bytes);
	if (r == 0)
		r = fd_close_from(SESSION_FD_EGRESS);
	if (r < 0) {
		log_error("not started as isod starts it: %s", strerror(-r));
		return 1;
	}
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || rights_drop(&rights, &e) < 0) {
		log_error("%s: %s", e.step, e.message);
		return 1;
	}
	r = egress_decode(egress, egress_len, &rules);
	munmap((void *)egress, egress_len);
	if (r < 0) {
		log_error("egress rules: %s", strerror(-r));
		return 1;
	}
	r = take_proxy(&proxy_bytes, &proxy, &setup);
	if (r < 0) {
		log_error("upstream proxy: %s%s", proxy_bytes.ca ? "its password, or certificates in caFile: " : "",
			  strerror(-r));
		return 1;
	}
	setup.console.has_pty = context.flags & SESSION_HAS_PTY;
	setup.console.detached = context.flags & SESSION_DETACHED;
	setup.id = context.id;
	take_record(&context, &setup);
	setup.uid = context.uid;
	r = session_run(&setup);
	if (r < 0)
		log_error("cannot begin: %s", strerror(-r));
	/* Not exit(): that would wait for threads in which a name is still being looked up. */
	_exit(r < 0);
}
