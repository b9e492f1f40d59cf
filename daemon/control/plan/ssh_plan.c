#include "daemon/control/plan/ssh_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "sshagent/ssh_public_key.h"
#include "sshagent/ssh_rules.h"

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "ssh-agent", NULL, "There is no memory left.");
}

/* The keys of one named host; the bytes are appended to *bytes, which has room for all. */
static size_t add_host(const struct policy *p, const char *host, struct ssh_host_key *keys, uint8_t **bytes)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_ssh_host_keys; i++) {
		const char *text = p->ssh_host_keys[i].value;
		size_t len;

		if (strcmp(p->ssh_host_keys[i].name, host) != 0 ||
		    ssh_public_key_parse(text, strlen(text), *bytes, LIMIT_SSH_KEY, &len) < 0)
			continue;
		keys[n++] = (struct ssh_host_key){ host, { *bytes, len } };
		*bytes += len;
	}
	return n;
}

static bool is_first(const struct policy_list *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(list->items[k].text, list->items[i].text) == 0)
			return false;
	return true;
}

/* A key counts for a host that is named, and for no other. */
static int add_hosts(const struct policy *p, struct ssh_host_key *keys, uint8_t *bytes, uint32_t *n,
		     struct string_list *notes)
{
	for (size_t i = 0; i < p->ssh_hosts.count; i++) {
		const char *host = p->ssh_hosts.items[i].text;
		size_t added = is_first(&p->ssh_hosts, i) ? add_host(p, host, keys + *n, &bytes) : 1;

		if (added == 0 && !string_list_printf(notes, "ssh-agent: no key of %s is known, see hostKeys", host))
			return -ENOMEM;
		*n += is_first(&p->ssh_hosts, i) ? (uint32_t)added : 0;
	}
	return 0;
}

int ssh_plan_seal(const struct policy *policy, struct string_list *notes, struct error *e)
{
	_cleanup_buffer_ struct buffer wire = BUFFER_INIT(LIMIT_SSH_RULES);
	_cleanup_free_ struct ssh_host_key *keys = calloc(policy->n_ssh_host_keys + 1, sizeof(*keys));
	_cleanup_free_ uint8_t *bytes = malloc((policy->n_ssh_host_keys + 1) * LIMIT_SSH_KEY);
	_cleanup_free_ const char **names = calloc(policy->ssh_keys.count + 1, sizeof(*names));
	struct ssh_rules rules = { .git_signatures = policy->ssh_git.on,
				   .hostbound = policy->ssh_hostbound.on,
				   .keys = names,
				   .host_keys = keys };
	int r;

	if (!keys || !bytes || !names || add_hosts(policy, keys, bytes, &rules.n_host_keys, notes) < 0)
		return no_memory(e);
	for (size_t i = 0; i < policy->ssh_keys.count; i++)
		names[rules.n_keys++] = policy->ssh_keys.items[i].text;
	r = ssh_rules_encode(&rules, &wire);
	if (r == 0)
		r = fd_sealed_new("ssh rules", wire.data, wire.len);
	return r < 0 ? error_set(e, ERROR_LIMIT, -r, "ssh-agent", "Name fewer keys and hosts.",
				 "The rules of the ssh-agent cannot be written: %s.", strerror(-r))
		     : r;
}
