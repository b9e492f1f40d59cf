#include "daemon/control/plan/plan_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/number.h"
#include "daemon/control/plan/env_build.h"
#include "daemon/control/plan/plan_mounts.h"
#include "daemon/wire/netns.h"

/* MAX_ARG_STRLEN of the kernel (32 pages of 4 KiB), its NUL included. */
#define ARGUMENT_MAX 131072

/* Where the client names none. */
#define UMASK_DEFAULT 022

/* The same for every session, since /etc/hosts of the view, which isod makes once, resolves it. */
#define VIEW_HOSTNAME "isod"

void plan_built_done(struct plan_built *b)
{
	free(b->mounts);
	free(b->plan_rules);
	free(b->ports);
	policy_rules_done(&b->rules);
	string_list_done(&b->texts);
	string_list_done(&b->argv);
	string_list_done(&b->envp);
	string_list_done(&b->notes);
	string_list_done(&b->lacking);
	*b = (struct plan_built)PLAN_BUILT_INIT;
}

static int check_strings(const struct string_list *l, const char *what, struct error *e)
{
	if (l->count > LIMIT_PLAN_ARGS)
		return error_set(e, ERROR_LIMIT, E2BIG, what, NULL, "There are more than %d of %s.", LIMIT_PLAN_ARGS,
				 what);
	for (size_t i = 0; i < l->count; i++) {
		size_t len = strlen(l->items[i]);

		if (len >= ARGUMENT_MAX)
			return error_set(e, ERROR_LIMIT, E2BIG, what, "Put the text into a file.",
					 "Number %zu of %s has %zu bytes; Linux takes at most %d.", i, what, len,
					 ARGUMENT_MAX - 1);
	}
	return 0;
}

static int build_argv(const struct plan_input *in, struct plan_built *b, struct error *e)
{
	if (in->run->argv.count == 0 || in->run->argv.items[0][0] == '\0')
		return error_set(e, ERROR_INVALID, EINVAL, "argv", "Name the program to run.",
				 "There is no command to run.");
	for (size_t i = 0; i < in->run->argv.count; i++)
		if (!string_list_add(&b->argv, in->run->argv.items[i]))
			return error_set(e, ERROR_INTERNAL, ENOMEM, "argv", NULL, "There is no memory left.");
	return check_strings(&b->argv, "the arguments", e);
}

static int build_environment(const struct plan_input *in, struct plan_built *b, bool links_made, struct error *e)
{
	const char *pwd = in->run->pwd;
	struct env_input env = {
		.caller = in->caller,
		.id = in->id,
		.pwd = links_made && pwd && plan_path_is_clean(pwd) ? pwd : in->run->cwd,
		.env = &in->run->env,
		.named = &in->run->named,
		.policy = in->policy,
		.ssh = in->ssh,
	};
	int r = env_build(&env, &b->envp, &b->notes, e);

	return r < 0 ? r : check_strings(&b->envp, "the variables", e);
}

static void build_flags(const struct plan_input *in, struct plan_built *b)
{
	if (in->policy->nesting)
		b->plan.flags |= PLAN_NESTING;
	if (in->policy->late_required.on)
		b->plan.flags |= PLAN_LATE_REQUIRED;
	if (in->policy->plants_required.on)
		b->plan.flags |= PLAN_PLANTS_REQUIRED;
	if (in->policy->degraded.on)
		b->plan.flags |= PLAN_DEGRADED;
	if (in->ssh)
		b->plan.flags |= PLAN_SSH;
	if (in->gpg)
		b->plan.flags |= PLAN_GPG;
	if (!in->run->has_terminal)
		return;
	b->plan.flags |= PLAN_PTY;
	b->plan.rows = (uint16_t)in->run->terminal.rows;
	b->plan.columns = (uint16_t)in->run->terminal.columns;
}

/* The session's own way out is no service of its programs. */
static int check_port(uint16_t inside, struct error *e)
{
	static const uint16_t own[] = { NETNS_PROXY_PORT, NETNS_CAPTURE_PORT, NETNS_DNS_PORT };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i] == inside)
			return error_set(e, ERROR_REFUSED, EADDRINUSE, "publish", "Serve on another port.",
					 "Port %u of a sandbox belongs to isod.", inside);
	return 0;
}

static int add_port(struct plan_built *b, const struct plan_port *port, struct error *e)
{
	for (uint32_t i = 0; i < b->plan.n_ports; i++)
		if (b->ports[i].way != port->way && b->ports[i].inside == port->inside)
			return error_set(e, ERROR_REFUSED, EADDRINUSE, "hostPorts", "Name it in one of them.",
					 "Port %u of the sandbox is to lead to the host and to be published.",
					 port->inside);
	b->ports[b->plan.n_ports++] = *port;
	return check_port(port->inside, e);
}

static int build_ports(const struct plan_input *in, struct plan_built *b, struct error *e)
{
	const struct policy_list *in_list = &in->policy->publish, *out_list = &in->policy->host_ports;
	int r = 0;

	if (in_list->count + out_list->count == 0)
		return 0;
	b->ports = calloc(in_list->count + out_list->count, sizeof(*b->ports));
	if (!b->ports)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "publish", NULL, "There is no memory left.");
	b->plan.ports = b->ports;
	for (size_t i = 0; r == 0 && i < in_list->count; i++) {
		struct plan_port p = { .way = PLAN_PORT_IN };

		r = policy_publish_parse(in_list->items[i].text, &p.host, &p.inside);
		if (r == 0)
			r = add_port(b, &p, e);
	}
	for (size_t i = 0; r == 0 && i < out_list->count; i++) {
		const char *text = out_list->items[i].text;
		struct plan_port p = { .way = PLAN_PORT_OUT };

		r = number_parse_port(text, strlen(text), &p.inside);
		p.host = p.inside;
		if (r == 0)
			r = add_port(b, &p, e);
	}
	if (r < 0 && e->code == ERROR_NONE)
		return error_set(e, ERROR_INTERNAL, -r, "publish", NULL, "A port of the policy is malformed.");
	return r;
}

int plan_build(const struct plan_input *in, struct plan_built *ret, struct error *e)
{
	bool links_made = false;
	int r;

	ret->plan.uid = in->caller->uid;
	ret->plan.id = in->id;
	ret->plan.hostname = VIEW_HOSTNAME;
	ret->plan.cwd = in->run->cwd;
	ret->plan.umask = in->run->has_umask ? (uint32_t)in->run->umask : UMASK_DEFAULT;
	build_flags(in, ret);
	r = build_argv(in, ret, e);
	if (r == 0)
		r = build_ports(in, ret, e);
	if (r == 0)
		r = plan_mounts_build(in, ret, &links_made, e);
	if (r == 0)
		r = build_environment(in, ret, links_made, e);
	if (r < 0)
		return r;
	ret->plan.argv = (const char *const *)ret->argv.items;
	ret->plan.n_argv = (uint32_t)ret->argv.count;
	ret->plan.envp = (const char *const *)ret->envp.items;
	ret->plan.n_envp = (uint32_t)ret->envp.count;
	return 0;
}
