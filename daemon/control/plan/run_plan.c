#include "daemon/control/plan/run_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "daemon/control/session.h"
#include "policy/egress_wire.h"

static int seal(const char *name, const struct buffer *b, int encoded, int *ret, struct error *e)
{
	int fd;

	if (encoded == -EMSGSIZE)
		return error_set(e, ERROR_LIMIT, E2BIG, name, "Pass less: put long texts into files.",
				 "The arguments, variables and rules together are larger than a session can take.");
	if (encoded < 0)
		return error_set(e, ERROR_INTERNAL, -encoded, name, NULL, "The %s could not be written.", name);
	fd = fd_sealed_new(name, b->data, b->len);
	if (fd < 0)
		return error_set(e, ERROR_INTERNAL, -fd, name, NULL, "The %s could not be sealed.", name);
	*ret = fd;
	return 0;
}

int run_plan_seal_egress(const struct egress_rules *egress, int *ret, struct error *e)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(LIMIT_EGRESS);

	return seal("egress rules", &bytes, egress_encode(egress, &bytes), ret, e);
}

int run_plan_seal_proxy(const struct egress_proxy *proxy, int *ret, struct error *e)
{
	_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(LIMIT_EGRESS);

	return seal("upstream proxy", &bytes, egress_proxy_encode(proxy, &bytes), ret, e);
}

int run_plan_seal(const struct plan *plan, const struct egress_rules *egress, int *ret_plan, int *ret_egress,
		  struct error *e)
{
	_cleanup_buffer_ struct buffer plan_bytes = BUFFER_INIT(LIMIT_PLAN);
	int r = seal("plan", &plan_bytes, plan_encode(plan, &plan_bytes), ret_plan, e);

	return r < 0 ? r : run_plan_seal_egress(egress, ret_egress, e);
}

void run_plan_name(struct session *s, const struct run_parameters *p)
{
	const char *program = p->argv.items[0], *slash = strrchr(program, '/');
	size_t n = 0;

	if (p->name) {
		snprintf(s->name, sizeof(s->name), "%s", p->name);
		return;
	}
	/* Bytes that a name cannot have are left out; the end of the id makes it unlikely to be met twice. */
	for (const char *at = slash ? slash + 1 : program; *at != '\0' && n < SESSION_LABEL_MAX - 5; at++)
		if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
		    *at == '_' || (n > 0 && (*at == '.' || *at == '-')))
			s->name[n++] = *at;
	snprintf(s->name + n, sizeof(s->name) - n, "%s%.4s", n > 0 ? "-" : "session-", s->id + ISOD_ID_LEN - 4);
}
