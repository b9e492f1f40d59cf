#ifndef ISOD_POLICY_KEY_H
#define ISOD_POLICY_KEY_H
/* The keys of a policy file: which there are, how their values are read, which come in a later version. */
#include "policy/policy_build.h"

struct policy_key;

/* Reads the value of a key into the merged policy. place: of the value. */
typedef int policy_read_fn(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			   const struct policy_place *place);

/* By which values a key lends something of the host's or the user's (policy_lend.c). */
enum policy_lending {
	POLICY_LENDS_NOTHING,
	POLICY_LENDS_ENTRIES, /* an array that is not empty */
	POLICY_LENDS_MEMBERS, /* an object that is not empty */
	POLICY_LENDS_BY_TRUE,
	POLICY_LENDS_BY_FALSE,
};

struct policy_key {
	const char *path;     /* "sandbox.network.allowedDomains" */
	policy_read_fn *read; /* NULL: an object of further keys */
	size_t offset;        /* into struct policy, where read() needs it */
	enum policy_lending lending;
	const char *option; /* of isoctl run, that says the same; NULL: none does */
};

/* 0, or -EINVAL (reported) where the layer may not lend what value would. A value of another type is refused, too. */
int policy_lend_check(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place);

/* parent: "" or the path of an object. NULL: there is no such key. */
const struct policy_key *policy_key_find(const char *parent, const char *name);

/* The path of the key that was probably meant, or NULL: a sibling at an edit distance of at most 2, or the same name in
 * another object. */
const char *policy_key_suggest(const char *parent, const char *name);

/* policy_value.c, policy_budget.c, policy_domains.c, policy_filesystem.c, policy_hosts.c, policy_limits.c,
 * policy_proxy.c, policy_ssh.c, policy_tls.c
 */
policy_read_fn policy_read_later;
policy_read_fn policy_read_paths;
policy_read_fn policy_read_devices;
policy_read_fn policy_read_protect;
policy_read_fn policy_read_guard_switch; /* true is the stricter value */
policy_read_fn policy_read_grant_switch; /* false is */
policy_read_fn policy_read_late;
policy_read_fn policy_read_degraded;
policy_read_fn policy_read_domains;
policy_read_fn policy_read_unlisted;
policy_read_fn policy_read_budget;
policy_read_fn policy_read_budgets;
policy_read_fn policy_read_exceeded;
policy_read_fn policy_read_connections;
policy_read_fn policy_read_rate;
policy_read_fn policy_read_ech;
policy_read_fn policy_read_no_sni;
policy_read_fn policy_read_publish;
policy_read_fn policy_read_host_ports;
policy_read_fn policy_read_sockets;
policy_read_fn policy_read_hosts;
policy_read_fn policy_read_proxy;
policy_read_fn policy_read_pass;
policy_read_fn policy_read_set;
policy_read_fn policy_read_memory;
policy_read_fn policy_read_pids;
policy_read_fn policy_read_cpus;
policy_read_fn policy_read_wall;
policy_read_fn policy_read_nesting;
policy_read_fn policy_read_record_size;
policy_read_fn policy_read_ssh_keys;
policy_read_fn policy_read_ssh_hosts;
policy_read_fn policy_read_ssh_host_keys;
policy_read_fn policy_read_gpg_keys;

#endif
