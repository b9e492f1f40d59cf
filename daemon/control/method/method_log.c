#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/audit/log_reader.h"
#include "daemon/control/session.h"
#include "proto/schema.h"

static struct log_filter filter_of(const struct log_parameters *p)
{
	const char *slash = p->program ? strrchr(p->program, '/') : NULL;
	struct log_filter f = { .since = p->since, .until = p->until, .denied = p->denied, .host = p->host };

	f.program = slash ? slash + 1 : p->program;
	f.below = p->host && strncmp(p->host, "*.", 2) == 0;
	if (f.below)
		f.host = p->host + 2;
	return f;
}

static int over_all(struct connection *c, const struct log_parameters *p, struct error *e)
{
	struct log_filter filter = filter_of(p);

	if (p->follow)
		return error_set(e, ERROR_INVALID, EINVAL, "follow", "Name the session.",
				 "Only the log of one session can be followed.");
	if (log_reader_new_over_all(c, &filter) < 0)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "log", NULL, "There is no memory left.");
	return 0;
}

static int of_one(struct connection *c, const struct log_parameters *p, struct error *e)
{
	struct log_filter filter = filter_of(p);
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	int fd, r;

	if (!s)
		return -ENOENT;
	fd = audit_open_for_reading(c->control->audit.dir_fd, s->id);
	if (fd < 0)
		return error_set(e, ERROR_INTERNAL, -fd, "log", NULL, "The log of this session cannot be read.");
	r = log_reader_new(c, s, fd, p->follow, &filter);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "log", NULL, "There is no memory left.") : 0;
}

int method_log(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct log_parameters *p = parameters;
	int r = p->session ? of_one(c, p, e) : over_all(c, p, e);

	if (r < 0)
		return r;
	connection_set_busy(c);
	log_reader_pump(c->reader);
	return 0;
}
