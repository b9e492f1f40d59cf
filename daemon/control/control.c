#include "daemon/control/control.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

int control_open(struct control *c, uv_loop_t *loop, int monitor_fd, int audit_fd, int config_fd)
{
	int r;

	*c = (struct control){ .loop = loop, .config_fd = config_fd };
	LIST_INIT(&c->connections);
	registry_init(&c->registry, c);
	r = audit_begin(&c->audit, loop, audit_fd);
	if (r < 0)
		log_error("the audit log cannot be opened: %s", strerror(-r));
	view_probe_read(&c->probe);
	return monitor_open(&c->monitor, c, monitor_fd);
}

void control_close(struct control *c)
{
	struct connection *next, *this;

	registry_done(&c->registry);
	next = LIST_FIRST(&c->connections);
	while ((this = next)) {
		next = LIST_NEXT(this, entry);
		connection_drop(this);
	}
	monitor_close(&c->monitor);
}

void control_done(struct control *c)
{
	monitor_done(&c->monitor);
	audit_done(&c->audit);
	c->config_fd = fd_close(c->config_fd);
}

int control_check_ready(const struct control *c, struct error *e)
{
	if (!c->hello_seen)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, EAGAIN, "start", "Try again in a moment.",
				 "isod has not yet found out what this machine can give.");
	if (c->hello.message[0] == '\0')
		return 0;
	return error_set(e, ERROR_SANDBOX_UNAVAILABLE, c->hello.err, c->hello.step, c->hello.remedy, "%s",
			 c->hello.message);
}
