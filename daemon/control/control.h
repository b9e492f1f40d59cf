#ifndef ISOD_CONTROL_CONTROL_H
#define ISOD_CONTROL_CONTROL_H
/* The whole of isod-control: one of these, made by main(), reached from every object. */
#include <uv.h>

#include "base/error.h"
#include "daemon/control/audit/audit.h"
#include "daemon/control/connection.h"
#include "daemon/control/monitor.h"
#include "daemon/control/registry.h"
#include "daemon/control/plan/view_probe.h"

struct control {
	uv_loop_t *loop;
	struct monitor monitor;
	struct connections connections;
	struct registry registry;
	struct audit audit;
	struct view_probe probe;
	int config_fd;      /* the administrator's folder */
	struct error hello; /* why no session can be started on this machine; message "" = none */
	uint32_t late_way;  /* enum late_way of this machine, and why not better */
	uint32_t late_reason;
	int landlock_abi; /* that sessions are confined by, 0 = none */
	bool hello_seen;
	unsigned n_verifying; /* looks through the log that are queued or under way */
};

/* Takes the descriptors over. 0 or -errno. */
int control_open(struct control *c, uv_loop_t *loop, int monitor_fd, int audit_fd, int config_fd);
/* Closes every handle; run the loop until it is empty, then control_done(). */
void control_close(struct control *c);
void control_done(struct control *c);

/* 0, or -errno with *e: why a session cannot be started now. */
int control_check_ready(const struct control *c, struct error *e);

#endif
