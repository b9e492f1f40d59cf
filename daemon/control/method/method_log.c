#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/audit/log_reader.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

int method_log(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct log_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	int fd, r;

	if (!s)
		return -ENOENT;
	fd = audit_open_for_reading(c->control->audit.dir_fd, s->id);
	if (fd < 0)
		return error_set(e, ERROR_INTERNAL, -fd, "log", NULL, "The log of this session cannot be read.");
	r = log_reader_new(c, s, fd, p->follow);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "log", NULL, "There is no memory left.");
	connection_set_busy(c);
	log_reader_pump(c->reader);
	return 0;
}
