/* isod-gateway: the gateway as a plain forward proxy on loopback, for programs outside a sandbox. Started by isoctl. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "base/log.h"
#include "base/number.h"
#include "daemon/proxy/proxy_events.h"
#include "daemon/proxy/proxy_listen.h"
#include "daemon/proxy/proxy_owner.h"
#include "daemon/proxy/proxy_policy.h"
#include "daemon/proxy/proxy_rights.h"
#include "daemon/session/gateway.h"

struct proxy {
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct gateway *gateway;
	struct policy policy;
	char auth[PROXY_AUTH_VALUE_MAX]; /* for the upstream proxy; "": none */
	struct proxy_tls *tls;           /* to it; NULL: none */
	struct events events;
	struct link owners;
};

static int fail(const struct error *e)
{
	fprintf(stderr, "isoctl gateway: %s: %s\n", e->step, e->message);
	if (e->remedy[0])
		fprintf(stderr, "  remedy: %s\n", e->remedy);
	return 1;
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct proxy *p = signal->data;

	for (size_t i = 0; i < 2; i++)
		uv_close((uv_handle_t *)&p->signals[i], NULL);
	gateway_close(p->gateway);
}

static int watch_signals(struct proxy *p)
{
	static const int numbers[] = { SIGINT, SIGTERM };
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2; i++) {
		r = uv_signal_init(&p->loop, &p->signals[i]);
		p->signals[i].data = p;
		if (r == 0)
			r = uv_signal_start(&p->signals[i], on_signal, numbers[i]);
	}
	return r;
}

/* A tunnel is two descriptors, with a pipe four. */
static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static int serve(struct proxy *p, uint16_t port, struct error *e)
{
	struct gateway_listeners listeners = { .capture_v4 = -1, .capture_v6 = -1 };
	int r = proxy_listen(port, &listeners.proxy_v4, &listeners.proxy_v6, &port, e);

	if (r < 0)
		return r;
	/* What only root may read has been read. */
	r = proxy_rights_drop(e);
	if (r < 0)
		return r;
	p->events.policy = &p->policy;
	r = uv_loop_init(&p->loop);
	if (r == 0)
		r = watch_signals(p);
	proxy_owner_open(&p->owners, &p->loop);
	if (r == 0)
		r = gateway_open(&p->loop, &p->policy.egress, NULL, &p->events, &p->owners, &listeners, &p->gateway);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "gateway", NULL, "It cannot begin: %s.", strerror(-r));
	gateway_introduce(p->gateway, "", "isoctl gateway");
	if (p->policy.proxy.url)
		gateway_use_proxy(p->gateway, &p->policy.proxy.way, p->auth[0] ? p->auth : NULL);
	if (p->tls)
		gateway_use_tls(p->gateway, p->tls);
	proxy_events_start(&p->events, port);
	uv_run(&p->loop, UV_RUN_DEFAULT);
	return 0;
}

int main(int argc, char **argv)
{
	static struct proxy proxy;
	struct error e = ERROR_INIT;
	uint64_t port;

	if (argc < 2 || number_parse_u64(argv[1], 65535, &port) < 0) {
		fputs("isod-gateway is started by isoctl gateway\n", stderr);
		return 2;
	}
	/* Its lines are events: those tell the same as its warnings. */
	log_open("isod-gateway", LOG_LEVEL_ERROR);
	/* As in isod-session: names are asked as they were judged, and two slow ones must not be all. */
	setenv("LOCALDOMAIN", ".", 1);
	setenv("UV_THREADPOOL_SIZE", "8", 1);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	raise_files();
	if (proxy_policy_load(argv + 2, argc - 2, getenv("EGRESS_ALLOW_EXTRA"), &proxy.policy, &e) < 0 ||
	    proxy_policy_auth(argv + 2, argc - 2, &proxy.policy, proxy.auth, &e) < 0 ||
	    proxy_policy_tls(argv + 2, argc - 2, &proxy.policy, &proxy.tls, &e) < 0 ||
	    serve(&proxy, (uint16_t)port, &e) < 0)
		return fail(&e);
	/* Not exit(): that would wait for threads in which a name is still being looked up. */
	_exit(0);
}
