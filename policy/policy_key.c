#include "policy/policy_key.h"

#include <string.h>

#include "base/cleanup.h"

#define AT(member) offsetof(struct policy, member)

static const struct policy_key keys[] = {
	{ "degraded", policy_read_degraded, AT(degraded) },
	{ "environment", NULL, 0 },
	{ "environment.pass", policy_read_pass, AT(environment_pass) },
	{ "environment.set", policy_read_set, 0 },
	{ "hosts", policy_read_hosts, 0 },
	{ "limits", NULL, 0 },
	{ "limits.cpus", policy_read_cpus, AT(cpu_pct) },
	{ "limits.memory", policy_read_memory, AT(memory) },
	{ "limits.pids", policy_read_pids, AT(pids) },
	{ "limits.wall", policy_read_wall, AT(wall) },
	{ "lock", policy_read_later, 0 },
	{ "permissions", policy_read_later, 0 },
	{ "process", NULL, 0 },
	{ "process.nesting", policy_read_nesting, 0 },
	{ "sandbox", NULL, 0 },
	{ "sandbox.credentials", policy_read_later, 0 },
	{ "sandbox.filesystem", NULL, 0 },
	{ "sandbox.filesystem.allowRead", policy_read_paths, AT(allow_read) },
	{ "sandbox.filesystem.allowWrite", policy_read_paths, AT(allow_write) },
	{ "sandbox.filesystem.caches", policy_read_grant_switch, AT(caches) },
	{ "sandbox.filesystem.denyRead", policy_read_paths, AT(deny_read) },
	{ "sandbox.filesystem.denyWrite", policy_read_paths, AT(deny_write) },
	{ "sandbox.filesystem.devices", policy_read_devices, AT(devices), POLICY_LENDS_ENTRIES },
	{ "sandbox.filesystem.lateFiles", policy_read_late, AT(late_required) },
	{ "sandbox.filesystem.latePlants", policy_read_late, AT(plants_required) },
	{ "sandbox.filesystem.overlay", policy_read_paths, AT(overlay) },
	{ "sandbox.filesystem.overlayProject", policy_read_guard_switch, AT(overlay_project) },
	{ "sandbox.filesystem.protect", policy_read_protect, 0 },
	{ "sandbox.filesystem.toolchains", policy_read_grant_switch, AT(toolchains) },
	{ "sandbox.gpgAgent", NULL, 0 },
	{ "sandbox.gpgAgent.enabled", policy_read_grant_switch, AT(gpg_enabled), POLICY_LENDS_BY_TRUE },
	{ "sandbox.gpgAgent.keys", policy_read_gpg_keys, AT(gpg_keys), POLICY_LENDS_ENTRIES },
	{ "sandbox.network", NULL, 0 },
	{ "sandbox.network.allowUnixSockets", policy_read_sockets, AT(unix_sockets), POLICY_LENDS_ENTRIES,
	  "--unix-socket" },
	{ "sandbox.network.allowedDomains", policy_read_domains, AT(allowed_domains) },
	{ "sandbox.network.budget", NULL, 0 },
	{ "sandbox.network.budget.bytesIn", policy_read_budget, AT(budget[EGRESS_IN]) },
	{ "sandbox.network.budget.bytesOut", policy_read_budget, AT(budget[EGRESS_OUT]) },
	{ "sandbox.network.budget.hosts", policy_read_budgets, 0 },
	{ "sandbox.network.budget.onExceeded", policy_read_exceeded, 0 },
	{ "sandbox.network.deniedDomains", policy_read_domains, AT(denied_domains) },
	{ "sandbox.network.hostPorts", policy_read_host_ports, AT(host_ports), POLICY_LENDS_ENTRIES, "--host-port" },
	{ "sandbox.network.limits", NULL, 0 },
	{ "sandbox.network.limits.connections", policy_read_connections, AT(connections) },
	{ "sandbox.network.limits.connectionsPerHost", policy_read_connections, AT(host_connections) },
	{ "sandbox.network.limits.newPerSecond", policy_read_rate, AT(per_second) },
	{ "sandbox.network.limits.newPerSecondPerHost", policy_read_rate, AT(host_per_second) },
	{ "sandbox.network.onUnlisted", policy_read_unlisted, 0 },
	{ "sandbox.network.publish", policy_read_publish, AT(publish), POLICY_LENDS_ENTRIES, "--publish" },
	{ "sandbox.network.tls", NULL, 0 },
	{ "sandbox.network.tls.ech", policy_read_ech, AT(ech_denied) },
	{ "sandbox.network.tls.noSni", policy_read_no_sni, AT(no_sni) },
	{ "sandbox.network.upstreamProxy", policy_read_proxy, 0 },
	{ "sandbox.sshAgent", NULL, 0 },
	{ "sandbox.sshAgent.enabled", policy_read_grant_switch, AT(ssh_enabled), POLICY_LENDS_BY_TRUE },
	{ "sandbox.sshAgent.gitSignatures", policy_read_grant_switch, AT(ssh_git), POLICY_LENDS_BY_TRUE },
	{ "sandbox.sshAgent.hostKeys", policy_read_ssh_host_keys, 0, POLICY_LENDS_MEMBERS },
	{ "sandbox.sshAgent.hostbound", policy_read_guard_switch, AT(ssh_hostbound), POLICY_LENDS_BY_FALSE },
	{ "sandbox.sshAgent.hosts", policy_read_ssh_hosts, AT(ssh_hosts), POLICY_LENDS_ENTRIES },
	{ "sandbox.sshAgent.keys", policy_read_ssh_keys, AT(ssh_keys), POLICY_LENDS_ENTRIES },
	{ "session", NULL, 0 },
	{ "session.record", policy_read_guard_switch, AT(record) },
	{ "session.recordInput", policy_read_grant_switch, AT(record_input), POLICY_LENDS_BY_TRUE, "--record-input" },
	{ "session.recordSize", policy_read_record_size, AT(record_size) },
};

/* The last part of path, where path lies directly in parent; else NULL. */
static const char *name_in(const char *path, const char *parent)
{
	size_t n = strlen(parent);

	if (n > 0 && (strncmp(path, parent, n) != 0 || path[n++] != '.'))
		return NULL;
	return strchr(path + n, '.') ? NULL : path + n;
}

static const char *last_part(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

const struct policy_key *policy_key_find(const char *parent, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *own = name_in(keys[i].path, parent);

		if (own && strcmp(own, name) == 0)
			return &keys[i];
	}
	return NULL;
}

#define NAME_MAX_LEN 32

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned r = a < b ? a : b;

	return r < c ? r : c;
}

/* Levenshtein; names longer than any key are far from all of them. */
static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[NAME_MAX_LEN + 1];
	size_t n = strlen(b);

	if (strlen(a) > NAME_MAX_LEN || n > NAME_MAX_LEN)
		return NAME_MAX_LEN;
	for (unsigned k = 0; k <= n; k++)
		row[k] = k;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned k = 0; k < n; k++) {
			unsigned above = row[k + 1];

			row[k + 1] = least(above + 1, row[k] + 1, diagonal + (a[i] != b[k]));
			diagonal = above;
		}
	}
	return row[n];
}

const char *policy_key_suggest(const char *parent, const char *name)
{
	const char *best = NULL;
	unsigned best_distance = 3;

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *own = name_in(keys[i].path, parent);
		unsigned distance = own ? edit_distance(own, name) : best_distance;

		if (distance < best_distance) {
			best = keys[i].path;
			best_distance = distance;
		}
	}
	for (size_t i = 0; !best && i < ARRAY_SIZE(keys); i++)
		if (strcmp(last_part(keys[i].path), name) == 0)
			best = keys[i].path;
	return best;
}
