#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_build.h"
#include "policy/policy_file.h"

/* A fork bomb must not fill the host's pid table; agents with many tools stay far below. */
#define BUILT_IN_PIDS 4096
/* Of connections: beyond what package managers and browsers do, below what a scan or a flood would. */
#define BUILT_IN_HOST_CONNECTIONS 2048
#define BUILT_IN_PER_SECOND 10000
#define BUILT_IN_HOST_PER_SECOND 5000

static const char *const layer_names[] = {
	[POLICY_BUILT_IN] = "built-in", [POLICY_ADMINISTRATOR] = "administrator", [POLICY_USER] = "user",
	[POLICY_FILE] = "file",         [POLICY_COMMAND_LINE] = "command-line",
};
_Static_assert(ARRAY_SIZE(layer_names) == POLICY_LAYER_COUNT, "one name a layer");

const char *policy_layer_name(enum policy_layer_kind kind)
{
	return (unsigned)kind < POLICY_LAYER_COUNT ? layer_names[kind] : "unknown";
}

static void set_built_in(struct policy *p)
{
	const struct policy_origin origin = { .layer = POLICY_BUILT_IN, .path = "" };

	p->memory.origin = p->cpu_pct.origin = p->wall.origin = p->pids.origin = origin;
	p->pids.value = BUILT_IN_PIDS;
	p->budget[EGRESS_OUT].origin = p->budget[EGRESS_IN].origin = origin;
	p->connections = (struct policy_number){ .value = LIMIT_SESSION_CONNECTIONS, .origin = origin };
	p->host_connections = (struct policy_number){ .value = BUILT_IN_HOST_CONNECTIONS, .origin = origin };
	p->per_second = (struct policy_number){ .value = BUILT_IN_PER_SECOND, .origin = origin };
	p->host_per_second = (struct policy_number){ .value = BUILT_IN_HOST_PER_SECOND, .origin = origin };
	p->nesting_origin = p->unlisted.origin = p->ech_denied.origin = origin;
	p->unlisted.most = EGRESS_UNLISTED_LEARN;
	for (size_t i = 0; i < PROTECT_GROUP_COUNT; i++)
		p->protect[i] = (struct policy_switch){ .on = protect_names[i].on, .origin = origin };
	p->overlay_project.origin = p->degraded.origin = origin;
	p->record.origin = p->record_input.origin = origin;
	p->record_size = (struct policy_number){ .value = LIMIT_RECORD_BUILT_IN, .origin = origin };
	p->late_required.origin = p->plants_required.origin = origin;
	p->ssh_enabled = (struct policy_switch){ .on = true, .origin = origin };
	p->ssh_git.origin = p->ssh_hostbound.origin = origin;
	p->gpg_enabled = (struct policy_switch){ .on = true, .origin = origin };
	p->toolchains = p->caches = (struct policy_switch){ .on = true, .origin = origin };
}

/* Rules were read layer by layer; now all allow rules come first, then all deny rules, each in the order of its list.
 */
static int arrange_rules(struct egress_rules *egress, struct error *e)
{
	struct egress_rule *rules = calloc(egress->n_rules + (size_t)1, sizeof(*rules));
	uint32_t n = 0;

	if (!rules)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "", NULL, "There is no memory for the policy.");
	for (unsigned deny = 0; deny < 2; deny++)
		for (uint32_t i = 0; i < egress->n_rules; i++)
			if (egress->rules[i].deny == deny)
				rules[n++] = egress->rules[i];
	free(egress->rules);
	egress->rules = rules;
	return 0;
}

static void compile_limits(struct policy *p)
{
	p->egress.limits = (struct egress_limits){
		.bytes = { p->budget[EGRESS_OUT].value, p->budget[EGRESS_IN].value },
		.connections = (uint32_t)p->connections.value,
		.host_connections = (uint32_t)p->host_connections.value,
		.per_second = (uint32_t)p->per_second.value,
		.host_per_second = (uint32_t)p->host_per_second.value,
	};
	for (size_t i = 0; i < p->n_budgets; i++)
		for (int k = 0; k < EGRESS_DIRECTION_COUNT; k++)
			p->egress.budgets[i].bytes[k] = p->budgets[i].bytes[k].value;
	p->egress.tls.ech_denied = p->ech_denied.on;
}

static int read_layers(const struct policy_input *layers, size_t n_layers, struct arena **arena, struct policy *p,
		       struct error *e)
{
	enum policy_layer_kind last = POLICY_BUILT_IN;

	if (n_layers > LIMIT_POLICY_LAYERS)
		return error_set(e, ERROR_LIMIT, E2BIG, "", NULL, "There are more than %u policy files.",
				 LIMIT_POLICY_LAYERS);
	for (size_t i = 0; i < n_layers; i++) {
		const struct policy_input *layer = &layers[i];
		const char *path = layer->path ? layer->path : "";
		struct policy_builder b = { .policy = p, .arena = arena, .error = e };
		int r;

		if ((unsigned)layer->layer >= POLICY_LAYER_COUNT || layer->layer < last)
			return error_set(e, ERROR_INTERNAL, EINVAL, path, NULL,
					 "The policy layers are not in their order.");
		last = layer->layer;
		b.layer = layer->layer;
		b.trusted = layer->trusted;
		b.path = arena_copy(arena, path, strlen(path));
		if (!b.path)
			return policy_no_memory(&b);
		r = policy_file_read(&b, layer->text, layer->len);
		if (r < 0)
			return r;
	}
	return 0;
}

int policy_load(const struct policy_input *layers, size_t n_layers, struct policy *ret, struct error *e)
{
	struct arena *arena = NULL;
	int r;

	*ret = (struct policy){ .arena = NULL };
	set_built_in(ret);
	r = read_layers(layers, n_layers, &arena, ret, e);
	ret->arena = arena;
	if (r == 0)
		r = arrange_rules(&ret->egress, e);
	if (r < 0)
		return r;
	compile_limits(ret);
	r = egress_rules_prepare(&ret->egress);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "", NULL, "The policy cannot be prepared.");
	return 0;
}

void policy_done(struct policy *p)
{
	struct policy_list *lists[] = { &p->allow_read,       &p->allow_write, &p->deny_read,       &p->deny_write,
					&p->overlay,          &p->devices,     &p->allowed_domains, &p->denied_domains,
					&p->environment_pass, &p->ssh_keys,    &p->ssh_hosts,       &p->proxy.bypass,
					&p->gpg_keys,         &p->unix_sockets };

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		free(lists[i]->items);
	free(p->publish.items);
	free(p->host_ports.items);
	free(p->no_sni.items);
	free(p->environment_set);
	free(p->hosts);
	free(p->budgets);
	free(p->ssh_host_keys);
	egress_rules_done(&p->egress);
	egress_proxy_done(&p->proxy.way);
	arena_free(p->arena);
	*p = (struct policy){ .arena = NULL };
}
