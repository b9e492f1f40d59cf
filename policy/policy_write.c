#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "json/write.h"
#include "policy/policy.h"
#include "policy/policy_digest.h"

struct output {
	struct json_writer *writer;
	bool origins;
};

/* Before and after each value; with origins it stands in an object of its own. */
static void begin_value(const struct output *o)
{
	if (!o->origins)
		return;
	json_write_object(o->writer);
	json_write_key(o->writer, "value");
}

static void end_value(const struct output *o, const struct policy_origin *origin)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT((size_t)LIMIT_PATH * 2);
	int r;

	if (!o->origins)
		return;
	if (origin->path[0])
		r = buffer_printf(&text, "%s %s:%u", policy_layer_name(origin->layer), origin->path, origin->line);
	else
		r = buffer_printf(&text, "%s", policy_layer_name(origin->layer));
	json_write_key(o->writer, "from");
	if (r < 0)
		json_write_string(o->writer, policy_layer_name(origin->layer));
	else
		json_write_bytes(o->writer, text.data, text.len);
	json_write_object_end(o->writer);
}

static void write_text(const struct output *o, const char *text, const struct policy_origin *origin)
{
	begin_value(o);
	json_write_bytes(o->writer, text, strlen(text));
	end_value(o, origin);
}

/* A denied host in the form in which it was given. */
static void write_denied(const struct output *o, const struct policy_list *list)
{
	json_write_key(o->writer, "deniedDomains");
	json_write_array(o->writer);
	for (size_t i = 0; i < list->count; i++) {
		const struct policy_text *item = &list->items[i];

		if (!item->why) {
			write_text(o, item->text, &item->origin);
			continue;
		}
		begin_value(o);
		json_write_object(o->writer);
		json_write_member_string(o->writer, "host", item->text);
		json_write_member_string(o->writer, "reason", item->why);
		json_write_object_end(o->writer);
		end_value(o, &item->origin);
	}
	json_write_array_end(o->writer);
}

static void write_list(const struct output *o, const char *name, const struct policy_list *list)
{
	json_write_key(o->writer, name);
	json_write_array(o->writer);
	for (size_t i = 0; i < list->count; i++)
		write_text(o, list->items[i].text, &list->items[i].origin);
	json_write_array_end(o->writer);
}

static void begin_object(const struct output *o, const char *name)
{
	json_write_key(o->writer, name);
	json_write_object(o->writer);
}

static void write_switch(const struct output *o, const char *name, const struct policy_switch *s)
{
	json_write_key(o->writer, name);
	begin_value(o);
	json_write_bool(o->writer, s->on);
	end_value(o, &s->origin);
}

static void write_word(const struct output *o, const char *name, const struct policy_switch *s, const char *no,
		       const char *yes)
{
	json_write_key(o->writer, name);
	write_text(o, s->on ? yes : no, &s->origin);
}

static void write_number(const struct output *o, const char *name, const struct policy_number *number)
{
	json_write_key(o->writer, name);
	begin_value(o);
	if (number->value == 0)
		json_write_null(o->writer);
	else
		json_write_integer(o->writer, (int64_t)number->value);
	end_value(o, &number->origin);
}

static void write_filesystem(const struct output *o, const struct policy *p)
{
	begin_object(o, "filesystem");
	write_list(o, "allowRead", &p->allow_read);
	write_list(o, "allowWrite", &p->allow_write);
	write_list(o, "denyRead", &p->deny_read);
	write_list(o, "denyWrite", &p->deny_write);
	write_list(o, "overlay", &p->overlay);
	write_switch(o, "overlayProject", &p->overlay_project);
	write_list(o, "devices", &p->devices);
	write_switch(o, "toolchains", &p->toolchains);
	write_switch(o, "caches", &p->caches);
	begin_object(o, "protect");
	for (unsigned i = PROTECT_NONE + 1; i < PROTECT_GROUP_COUNT; i++)
		write_switch(o, protect_names[i].name, &p->protect[i]);
	json_write_object_end(o->writer);
	write_word(o, "lateFiles", &p->late_required, "report", "require");
	write_word(o, "latePlants", &p->plants_required, "report", "require");
	json_write_object_end(o->writer);
}

/* One array for each name; its pairs may come from several layers, and there are few. */
static void write_pairs(const struct output *o, const char *key, const struct policy_pair *pairs, size_t n)
{
	begin_object(o, key);
	for (size_t i = 0; i < n; i++) {
		size_t before = 0;

		while (before < i && strcmp(pairs[before].name, pairs[i].name) != 0)
			before++;
		if (before < i)
			continue;
		json_write_key(o->writer, pairs[i].name);
		json_write_array(o->writer);
		for (size_t k = i; k < n; k++)
			if (strcmp(pairs[k].name, pairs[i].name) == 0)
				write_text(o, pairs[k].value, &pairs[k].origin);
		json_write_array_end(o->writer);
	}
	json_write_object_end(o->writer);
}

static void write_ssh(const struct output *o, const struct policy *p)
{
	begin_object(o, "sshAgent");
	write_switch(o, "enabled", &p->ssh_enabled);
	write_list(o, "keys", &p->ssh_keys);
	write_list(o, "hosts", &p->ssh_hosts);
	write_pairs(o, "hostKeys", p->ssh_host_keys, p->n_ssh_host_keys);
	write_switch(o, "gitSignatures", &p->ssh_git);
	write_switch(o, "hostbound", &p->ssh_hostbound);
	json_write_object_end(o->writer);
}

static void write_gpg(const struct output *o, const struct policy *p)
{
	begin_object(o, "gpgAgent");
	write_switch(o, "enabled", &p->gpg_enabled);
	write_list(o, "keys", &p->gpg_keys);
	json_write_object_end(o->writer);
}

/* One value: its parts come from one place. */
static void write_proxy(const struct output *o, const struct policy_proxy *proxy)
{
	if (!proxy->url)
		return;
	json_write_key(o->writer, "upstreamProxy");
	begin_value(o);
	json_write_object(o->writer);
	json_write_member_string(o->writer, "url", proxy->url);
	if (proxy->auth_file)
		json_write_member_string(o->writer, "authFile", proxy->auth_file);
	if (proxy->ca_file)
		json_write_member_string(o->writer, "caFile", proxy->ca_file);
	json_write_key(o->writer, "bypass");
	json_write_array(o->writer);
	for (size_t i = 0; i < proxy->bypass.count; i++)
		json_write_string(o->writer, proxy->bypass.items[i].text);
	json_write_array_end(o->writer);
	json_write_object_end(o->writer);
	end_value(o, &proxy->origin);
}

static void write_bytes(const struct output *o, const struct policy_number bytes[EGRESS_DIRECTION_COUNT])
{
	write_number(o, "bytesOut", &bytes[EGRESS_OUT]);
	write_number(o, "bytesIn", &bytes[EGRESS_IN]);
}

static void write_budget(const struct output *o, const struct policy *p)
{
	begin_object(o, "budget");
	write_bytes(o, p->budget);
	json_write_key(o->writer, "hosts");
	json_write_array(o->writer);
	for (size_t i = 0; i < p->n_budgets; i++) {
		json_write_object(o->writer);
		json_write_member_string(o->writer, "host", p->budgets[i].host);
		write_bytes(o, p->budgets[i].bytes);
		json_write_object_end(o->writer);
	}
	json_write_array_end(o->writer);
	json_write_object_end(o->writer);
}

static void write_network(const struct output *o, const struct policy *p)
{
	begin_object(o, "network");
	json_write_key(o->writer, "onUnlisted");
	write_text(o, policy_unlisted_name(p->egress.unlisted), &p->unlisted.origin);
	write_list(o, "allowedDomains", &p->allowed_domains);
	write_list(o, "publish", &p->publish);
	write_list(o, "hostPorts", &p->host_ports);
	write_list(o, "allowUnixSockets", &p->unix_sockets);
	write_denied(o, &p->denied_domains);
	write_proxy(o, &p->proxy);
	write_budget(o, p);
	begin_object(o, "limits");
	write_number(o, "connections", &p->connections);
	write_number(o, "connectionsPerHost", &p->host_connections);
	write_number(o, "newPerSecond", &p->per_second);
	write_number(o, "newPerSecondPerHost", &p->host_per_second);
	json_write_object_end(o->writer);
	begin_object(o, "tls");
	write_word(o, "ech", &p->ech_denied, "allow", "deny");
	write_list(o, "noSni", &p->no_sni);
	json_write_object_end(o->writer);
	json_write_object_end(o->writer);
}

static void write_sandbox(const struct output *o, const struct policy *p)
{
	begin_object(o, "sandbox");
	write_filesystem(o, p);
	write_network(o, p);
	write_ssh(o, p);
	write_gpg(o, p);
	json_write_object_end(o->writer);
}

/* The pairs of one name are neighbours. */
static void write_hosts(const struct output *o, const struct policy *p)
{
	begin_object(o, "hosts");
	for (size_t i = 0; i < p->n_hosts; i++) {
		bool first = i == 0 || strcmp(p->hosts[i].name, p->hosts[i - 1].name) != 0;
		bool last = i + 1 == p->n_hosts || strcmp(p->hosts[i].name, p->hosts[i + 1].name) != 0;

		if (first) {
			json_write_key(o->writer, p->hosts[i].name);
			json_write_array(o->writer);
		}
		write_text(o, p->hosts[i].value, &p->hosts[i].origin);
		if (last)
			json_write_array_end(o->writer);
	}
	json_write_object_end(o->writer);
}

static void write_environment(const struct output *o, const struct policy *p)
{
	begin_object(o, "environment");
	write_list(o, "pass", &p->environment_pass);
	begin_object(o, "set");
	for (size_t i = 0; i < p->n_environment_set; i++) {
		json_write_key(o->writer, p->environment_set[i].name);
		write_text(o, p->environment_set[i].value, &p->environment_set[i].origin);
	}
	json_write_object_end(o->writer);
	json_write_object_end(o->writer);
}

/* Whole processors as a number, parts of one as a share. */
static void write_cpus(const struct output *o, const struct policy_number *number)
{
	const struct policy_number whole = { .value = number->value / 100, .origin = number->origin };
	char text[32];

	if (number->value % 100 == 0) {
		write_number(o, "cpus", &whole);
		return;
	}
	snprintf(text, sizeof(text), "%llu%%", (unsigned long long)number->value);
	json_write_key(o->writer, "cpus");
	write_text(o, text, &number->origin);
}

static void write_limits(const struct output *o, const struct policy *p)
{
	begin_object(o, "limits");
	write_number(o, "memory", &p->memory);
	write_number(o, "pids", &p->pids);
	write_cpus(o, &p->cpu_pct);
	write_number(o, "wall", &p->wall);
	json_write_object_end(o->writer);
}

static void write_process(const struct output *o, const struct policy *p)
{
	begin_object(o, "process");
	json_write_key(o->writer, "nesting");
	begin_value(o);
	json_write_bool(o->writer, p->nesting);
	end_value(o, &p->nesting_origin);
	json_write_object_end(o->writer);
}

static void write_session(const struct output *o, const struct policy *p)
{
	begin_object(o, "session");
	write_switch(o, "record", &p->record);
	write_switch(o, "recordInput", &p->record_input);
	write_number(o, "recordSize", &p->record_size);
	json_write_object_end(o->writer);
}

void policy_write_values(const struct policy *p, struct json_writer *w, bool origins)
{
	const struct output o = { .writer = w, .origins = origins };

	json_write_object(w);
	write_sandbox(&o, p);
	write_hosts(&o, p);
	write_environment(&o, p);
	write_limits(&o, p);
	write_process(&o, p);
	write_session(&o, p);
	write_word(&o, "degraded", &p->degraded, "refuse", "allow");
	json_write_object_end(w);
}

void policy_write(const struct policy *p, struct json_writer *w)
{
	policy_write_values(p, w, true);
}
