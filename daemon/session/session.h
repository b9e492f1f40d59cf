#ifndef ISOD_SESSION_SESSION_H
#define ISOD_SESSION_SESSION_H
/* One session from the first listener to the last byte. Logs. */
#include <stdbool.h>

#include "daemon/session/agent/gpg_agent.h"
#include "daemon/session/agent/ssh.h"
#include "daemon/session/console.h"
#include "daemon/session/record.h"
#include "policy/egress_proxy.h"

struct proxy_tls;

struct session_setup {
	int control_fd; /* SESSION_FD_CONTROL and _LINK: taken over */
	int link_fd;
	struct console_setup console;
	struct egress_rules *rules;       /* replaced in place while it runs */
	const struct egress_proxy *proxy; /* NULL: none leads out */
	const char *proxy_auth;           /* value of Proxy-Authorization; NULL */
	struct proxy_tls *tls;            /* to the proxy; NULL: none */
	const struct ssh_service *ssh;    /* NULL: this session has no ssh-agent */
	struct ssh_lent lent;
	const struct gpg_lent *gpg;   /* NULL: it has no gpg-agent */
	struct record_options record; /* .fd < 0: none */
	const char *id;
	uint32_t uid; /* whose session it is */
};

/* Serves until the program has exited and everything was handed over, or the session was ended from outside. 0, or
 * -errno where it could not begin. */
int session_run(const struct session_setup *setup);

#endif
