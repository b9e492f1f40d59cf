#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/plan/gpg_plan.h"
#include "daemon/control/plan/plan_build.h"
#include "daemon/control/plan/policy_merge.h"
#include "daemon/control/plan/run_plan.h"
#include "daemon/control/session.h"
#include "daemon/control/plan/ssh_plan.h"
#include "daemon/control/stdio_check.h"
#include "daemon/control/unlisted.h"
#include "policy/policy_digest.h"
#include "proto/schema.h"

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "run", NULL, "There is no memory left.");
}

/* With a terminal the connection becomes the way in and out; without, three descriptors are. */
static int check_form(const struct call *call, const struct run_parameters *p, struct error *e)
{
	size_t n_last = (size_t)p->ssh_agent + p->gpg_agent + p->record, n_fds = call->n_fds - n_last;

	if (call->n_fds < n_last)
		return error_set(e, ERROR_INVALID, EINVAL,
				 p->ssh_agent   ? "sshAgent"
				 : p->gpg_agent ? "gpgAgent"
						: "record",
				 NULL,
				 "With sshAgent and gpgAgent a connection to each of these agents must come last, "
				 "with record a file after them.");
	if (p->detach && call->envelope->upgrade)
		return error_set(e, ERROR_INVALID, EINVAL, "detach", NULL, "With detach Run cannot be an upgrade.");
	if (p->detach && n_fds != (p->has_terminal ? 0 : 5))
		return error_set(e, ERROR_INVALID, EINVAL, "descriptors", NULL,
				 "With detach Run needs five descriptors, and none with a terminal.");
	if (p->detach)
		return stdio_check(call->fds, n_fds, e);
	if (p->has_terminal && (!call->envelope->upgrade || n_fds > 0))
		return error_set(e, ERROR_INVALID, EINVAL, "terminal", NULL,
				 "With a terminal Run must be an upgrade, without descriptors.");
	if (p->has_terminal)
		return 0;
	if (call->envelope->upgrade || !call->envelope->more || n_fds != 3)
		return error_set(e, ERROR_INVALID, EINVAL, "descriptors", NULL,
				 "Without a terminal Run needs \"more\" and three descriptors: stdin, stdout, stderr.");
	return stdio_check(call->fds, n_fds, e);
}

/* Whoever has forgotten --overlay would look for the work in vain. */
static int tell_overlay(struct session *s, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->n_mounts; i++) {
		if (!(plan->mounts[i].flags & PLAN_KEEP))
			continue;
		return string_list_printf(&s->notes, "The project stays as it is: isoctl diff|apply|discard %s", s->id)
			       ? 0
			       : -ENOMEM;
	}
	return 0;
}

/* Whoever has named keys would look for them in vain. */
static int tell_agent(struct session *s, const struct run_parameters *p, struct error *e)
{
	if (!p->ssh_agent && policy_lends_ssh(&s->policy) &&
	    !string_list_printf(&s->notes, "The policy lends keys of an ssh-agent, and SSH_AUTH_SOCK leads to none"))
		return no_memory(e);
	if (!p->gpg_agent && policy_lends_gpg(&s->policy) &&
	    !string_list_printf(&s->notes,
				"The policy lends keys of a gpg-agent, and none runs with a restricted socket: "
				"gpgconf --launch gpg-agent"))
		return no_memory(e);
	return 0;
}

/* What the session is called and shown as. */
static int describe(struct session *s, const struct run_parameters *p, const struct plan_built *built, struct error *e)
{
	s->terminal = p->has_terminal;
	s->detached = p->detach;
	s->rows = built->plan.rows;
	s->columns = built->plan.columns;
	s->project = strdup(p->cwd);
	s->cwd = strdup(built->plan.cwd);
	run_plan_name(s, p);
	if (!s->project || !s->cwd || session_set_argv(s, built->plan.argv) < 0 ||
	    policy_digest(&s->policy, s->digest) < 0)
		return no_memory(e);
	for (size_t i = 0; i < built->notes.count; i++)
		if (!string_list_add(&s->notes, built->notes.items[i]))
			return no_memory(e);
	for (size_t i = 0; i < built->lacking.count; i++)
		late_add_lacking(&s->late, built->lacking.items[i]);
	return tell_overlay(s, &built->plan) < 0 ? no_memory(e) : 0;
}

/* Whose policy wants a recording gets one or nothing. */
static int check_record(const struct session *s, const struct run_parameters *p, struct error *e)
{
	if (!s->policy.record.on || p->record)
		return 0;
	return error_set(e, ERROR_REFUSED, EPERM, "session.record", "Say: isoctl run --record FILE.",
			 "The policy wants sessions recorded, and no file for that was given.");
}

#define START_FDS_MAX 11

/* What is sealed for a start; -1: it is not needed. */
struct sealed {
	int plan, egress, ssh, gpg, proxy;
};

static void sealed_done(struct sealed *s)
{
	fd_close(s->plan);
	fd_close(s->egress);
	fd_close(s->ssh);
	fd_close(s->gpg);
	fd_close(s->proxy);
}

static int seal(struct session *s, const struct plan_built *built, struct sealed *ret, struct error *e)
{
	int r = run_plan_seal(&built->plan, &s->policy.egress, &ret->plan, &ret->egress, e);

	if (r == 0 && built->plan.flags & PLAN_SSH)
		r = ret->ssh = ssh_plan_seal(&s->policy, &s->notes, e);
	if (r >= 0 && built->plan.flags & PLAN_GPG)
		r = ret->gpg = gpg_plan_seal(&s->policy, e);
	if (r >= 0 && s->policy.proxy.url)
		r = run_plan_seal_proxy(&s->policy.proxy.way, &ret->proxy, e);
	return r < 0 ? r : 0;
}

/* As CONTROL_START wants them; the agents' sockets come last in the call. */
static size_t order_fds(int fds[START_FDS_MAX], const struct call *call, const struct run_parameters *p,
			const struct sealed *sealed)
{
	const size_t n_stdio = p->has_terminal ? 0 : 3, at_agents = n_stdio + (n_stdio > 0 && p->detach ? 2 : 0);
	size_t n = 0;

	fds[n++] = sealed->plan;
	fds[n++] = sealed->egress;
	for (size_t i = 0; i < n_stdio; i++)
		fds[n++] = call->fds[i];
	if (sealed->ssh >= 0) {
		fds[n++] = sealed->ssh;
		fds[n++] = call->fds[at_agents];
	}
	if (sealed->gpg >= 0) {
		fds[n++] = sealed->gpg;
		fds[n++] = call->fds[at_agents + p->ssh_agent];
	}
	if (sealed->proxy >= 0)
		fds[n++] = sealed->proxy;
	if (p->record)
		fds[n++] = call->fds[at_agents + p->ssh_agent + p->gpg_agent];
	return n;
}

/* A detached session's pipes, until isod-session has them. */
static int keep_outputs(struct session *s, const struct call *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->outputs); i++) {
		s->outputs[i] = fcntl(call->fds[3 + i], F_DUPFD_CLOEXEC, 0);
		if (s->outputs[i] < 0)
			return -errno;
	}
	return 0;
}

/* Nothing runs that is not written down first. */
static int start(struct connection *c, struct session *s, const struct call *call, const struct run_parameters *p,
		 const struct plan_built *built, struct error *e)
{
	__attribute__((cleanup(sealed_done))) struct sealed sealed = { -1, -1, -1, -1, -1 };
	int fds[START_FDS_MAX];
	size_t n_fds;
	unsigned flags =
		(built->plan.flags & PLAN_PTY ? CONTROL_START_PTY : 0) |
		(built->plan.flags & PLAN_NESTING ? CONTROL_START_NESTING : 0) |
		(built->plan.flags & PLAN_SSH ? CONTROL_START_SSH : 0) |
		(s->policy.proxy.url ? CONTROL_START_PROXY : 0) | (s->policy.proxy.tls ? CONTROL_START_PROXY_TLS : 0) |
		(built->plan.flags & PLAN_GPG ? CONTROL_START_GPG : 0) | (p->record ? CONTROL_START_RECORD : 0) |
		(p->record && s->policy.record_input.on ? CONTROL_START_RECORD_INPUT : 0) |
		(p->detach ? CONTROL_START_DETACHED : 0);
	int r = seal(s, built, &sealed, e);

	if (r < 0)
		return r;
	r = audit_start(s, built->plan.argv, c->pid);
	if (r < 0)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, -r, "audit log",
				 "Make room on the disk of the audit log.",
				 "The start could not be written to the audit log.");
	for (size_t i = 0; i < s->late.lacking.count; i++)
		audit_lacking(s, s->late.lacking.items[i]);
	if (p->detach && !p->has_terminal && keep_outputs(s, call) < 0)
		return no_memory(e);
	n_fds = order_fds(fds, call, p, &sealed);
	r = control_check_ready(s->control, e);
	if (r == 0)
		r = session_start(s, c, fds, n_fds, flags, e);
	return r;
}

/* Everything between a request and a plan that is on its way to isod. */
static int prepare(struct connection *c, struct session *s, const struct call *call, const struct run_parameters *p,
		   struct error *e)
{
	_cleanup_caller_ struct caller caller = CALLER_INIT;
	_cleanup_free_ char *administrator = NULL;
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct plan_input input = {
		.id = s->id, .caller = &caller, .run = p, .policy = &s->policy, .probe = &c->control->probe
	};
	int r;

	r = check_form(call, p, e);
	if (r == 0)
		r = registry_admit(&c->control->registry, c->uid, p->name, e);
	if (r == 0) {
		r = policy_merge_administrator(c->control->config_fd, &administrator, e);
		if (r == 0)
			r = policy_merge_texts(administrator, &p->policies, &s->policy, e);
		s->has_policy = true;
	}
	if (r == 0 && reload_keep(&s->reload.texts, administrator, &p->policies) < 0)
		r = no_memory(e);
	if (r == 0)
		r = check_record(s, p, e);
	if (r == 0) {
		input.ssh = p->ssh_agent && policy_lends_ssh(&s->policy);
		input.gpg = p->gpg_agent && policy_lends_gpg(&s->policy);
		r = tell_agent(s, p, e);
	}
	if (r == 0)
		r = caller_look_up(c->uid, c->gid, &caller, e);
	if (r == 0)
		r = plan_build(&input, &built, e);
	if (r == 0)
		r = late_check(c->control, &built.plan, &built.notes, e);
	if (r == 0)
		r = describe(s, p, &built, e);
	if (r == 0)
		r = unlisted_tell(s, e);
	if (r == 0)
		r = start(c, s, call, p, &built, e);
	return r;
}

/* The first reply is sent by run_reply_started() or run_reply_failed(), once isod has answered. */
int method_run(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct run_parameters *p = parameters;
	struct session *s = session_new(c->control, c->uid);
	int r;

	if (!s)
		return no_memory(e);
	r = prepare(c, s, call, p, e);
	if (r < 0) {
		if (s->audit.fd >= 0)
			audit_start_failed(s, e);
		else
			audit_refused(s, p->argv.items, p->cwd, c->pid, e);
		session_release(s);
		return r;
	}
	connection_set_busy(c);
	return 0;
}
