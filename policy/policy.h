#ifndef ISOD_POLICY_POLICY_H
#define ISOD_POLICY_POLICY_H
/*
 * The policy: layers parsed from text, merged into one result in which every value knows where it came from. Pure.
 * Layers from the weakest owner's defaults to the command line: built-in, administrator, user, file (--policy),
 * command-line.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/egress.h"
#include "policy/egress_proxy.h"
#include "view/protect.h"

enum policy_layer_kind {
	POLICY_BUILT_IN,
	POLICY_ADMINISTRATOR, /* the only one that may pin hosts and name a proxy */
	POLICY_USER,
	POLICY_FILE,
	POLICY_COMMAND_LINE,
	POLICY_LAYER_COUNT
};

const char *
policy_layer_name(enum policy_layer_kind kind); /* "built-in", "administrator", "user", "file", "command-line" */

struct policy_origin {
	enum policy_layer_kind layer;
	const char *path; /* of the file, for messages; "" for built-in and command line */
	uint32_t line;
};

struct policy_text {
	const char *text; /* as written, e.g. "~/.cache/pip", "*.example.org:443" */
	const char *why;  /* of a denied host: what its users are told; NULL */
	struct policy_origin origin;
};

struct policy_list {
	struct policy_text *items;
	size_t count;
};

struct policy_pair {
	const char *name;
	const char *value;
	struct policy_origin origin;
};

struct policy_number {
	uint64_t value; /* 0 = no limit */
	struct policy_origin origin;
};

/* An entry of network.budget.hosts; 0 in .bytes is no limit in that direction. */
struct policy_budget {
	const char *host; /* as written */
	struct policy_number bytes[EGRESS_DIRECTION_COUNT];
};

/* "onUnlisted": what of it counts is egress.unlisted. Never looser than the administrator's; "learn" is his, the user's
 * own file's and the command line's alone. */
struct policy_unlisted {
	uint32_t most;  /* as loose as the administrator lets it be (enum egress_unlisted) */
	bool overruled; /* a later layer wanted it looser */
	struct policy_origin origin;
};

struct policy_switch {
	bool on;
	struct policy_origin origin;
};

/* "upstreamProxy"; the administrator's alone. */
struct policy_proxy {
	const char *url;       /* as written; NULL: there is none */
	const char *auth_file; /* a name in the administrator's folder; NULL */
	const char *ca_file;   /* likewise; with .tls alone */
	bool tls;              /* .url is https:// */
	struct policy_list bypass;
	struct egress_proxy way; /* .url and .bypass, compiled */
	struct policy_origin origin;
};

struct policy {
	struct policy_list allow_read;
	struct policy_list allow_write;
	struct policy_list deny_read;
	struct policy_list deny_write;
	struct policy_list overlay; /* folders read from the host, written to a layer of the session */
	struct policy_list devices; /* "/dev/dri/renderD128", "/dev/nvidia*" */
	struct policy_switch protect[PROTECT_GROUP_COUNT];
	struct policy_switch overlay_project; /* "overlayProject": the project, too; its layer is kept */
	struct policy_switch late_required;   /* "lateFiles": "require" | "report" */
	struct policy_switch plants_required; /* "latePlants": the same words */
	struct policy_switch toolchains;      /* tool chains found in HOME can be read (view/toolchain.h) */
	struct policy_switch caches;          /* caches in HOME are overlays */
	struct policy_switch degraded;        /* "degraded": "allow" | "refuse"; the administrator's alone */
	struct policy_list allowed_domains;
	struct policy_list denied_domains;
	struct policy_unlisted unlisted;
	struct policy_list host_ports;     /* ports of the host's loopback that the session's leads to */
	struct policy_list unix_sockets;   /* "allowUnixSockets": paths */
	struct policy_list publish;        /* "HOST:PORT", policy_publish_parse() */
	struct policy_switch ssh_enabled;  /* false: nothing of the user's ssh-agent is lent, whatever else is said */
	struct policy_list ssh_keys;       /* fingerprints and comments */
	struct policy_list ssh_hosts;      /* "name" or "name:port" */
	struct policy_pair *ssh_host_keys; /* a host of ssh_hosts, "ssh-ed25519 AAAA..." */
	size_t n_ssh_host_keys;
	struct policy_switch ssh_git;       /* signatures of commits and tags */
	struct policy_switch ssh_hostbound; /* logins must name the host in what is signed */
	struct policy_switch gpg_enabled;   /* false: nothing of the user's gpg-agent is lent, whatever else is said */
	struct policy_list gpg_keys;        /* keygrips, in upper case */
	struct policy_list environment_pass;
	struct policy_pair *environment_set;
	size_t n_environment_set;
	struct policy_pair *hosts; /* the pins of egress as written, one pair a name and address */
	size_t n_hosts;
	struct policy_number budget[EGRESS_DIRECTION_COUNT]; /* bytes of the whole session */
	struct policy_budget *budgets;                       /* entry i is budget i of egress */
	size_t n_budgets;
	struct policy_number connections, host_connections; /* open at a time */
	struct policy_number per_second, host_per_second;   /* new connections */
	struct policy_switch ech_denied;                    /* "tls.ech": "deny" */
	struct policy_list no_sni;                          /* entry i is egress.tls.no_sni[i] */
	struct egress_rules egress; /* allowed_domains, denied_domains and hosts, compiled; rule i of egress belongs to
				       allowed_domains[i], then denied_domains */
	struct policy_proxy proxy;
	struct policy_number memory; /* bytes */
	struct policy_number pids;
	struct policy_number cpu_pct; /* 150 = one core and a half */
	struct policy_number wall;    /* seconds */
	struct policy_switch record;  /* a session is recorded, and does not start without */
	struct policy_switch record_input;
	struct policy_number record_size; /* bytes */
	bool nesting;
	struct policy_origin nesting_origin;
	void *arena;
};

struct policy_input {
	enum policy_layer_kind layer;
	const char *path;
	const char *text;
	size_t len;
	bool trusted; /* a file of --policy whose very bytes the user has confirmed: it may lend (policy_lend.c) */
};

/*
 * Parses and merges the layers, which must be in the order above; the built-in one is added by itself. First error:
 * ERROR_POLICY, .step = "path:line: key", .message a sentence. Unknown keys, duplicate keys, wrong types, values that
 * cannot be enforced by this version: refused. 0 or -errno; policy_done() in any case.
 */
int policy_load(const struct policy_input *layers, size_t n_layers, struct policy *ret, struct error *e);
void policy_done(struct policy *p);

/* "deny", "ask", "learn". unlisted: enum egress_unlisted. */
const char *policy_unlisted_name(uint32_t unlisted);

/* One entry of publish: "PORT" and "HOST:PORT", where HOST may be 0 or nothing (*ret_host 0: any that is free), else
 * 1024 to 65535. 0 or -EINVAL. */
int policy_publish_parse(const char *text, uint16_t *ret_host, uint16_t *ret_inside);

/* Whether anything of the user's ssh-agent is lent. */
bool policy_lends_ssh(const struct policy *p);
bool policy_lends_gpg(const struct policy *p);

/*
 * How layers merge: lists append (deny beats allow whatever the order); a limit is the smallest that any layer sets,
 * and the built-in one where none does; a switch is what the last layer says, but where the administrator has chosen
 * the stricter value it stands (nesting, toolchains, caches, those of sshAgent and gpgAgent: false; protect,
 * overlayProject, hostbound: true); byte budgets of several layers for the same hosts are limits of one budget;
 * lateFiles and latePlants "require" and ech "deny" of any layer stand; of two values for one variable the later
 * layer's counts; where the administrator names keys of a host, those of other layers do not count for it.
 */

struct json_writer;
/* The merged result as one JSON object in the shape of a policy file, where each value is {"value":..., "from":"layer
 * path:line"}. */
void policy_write(const struct policy *p, struct json_writer *w);

/*
 * The pattern (view/path_pattern.h) that a filesystem rule means: "~/x" below home, "./x" and "**" + "/x" below
 * project, absolute as it is; "**" at the end is taken off. home and project are paths: their bytes are escaped.
 * Refused with *e filled: relative without "./", "..", empty, what can match nothing (a name of more than 255 bytes),
 * "/".
 */
int policy_path_expand(const char *text, const char *home, const char *project, char *ret, size_t ret_size,
		       struct error *e);

#endif
