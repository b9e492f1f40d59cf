/* sandbox.sshAgent: which keys of the user's ssh-agent a session is lent, and for what. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/number.h"
#include "json/printable.h"
#include "policy/hostname.h"
#include "policy/policy_key.h"
#include "sshagent/ssh_public_key.h"

#define COMMENT_MAX 500
#define FINGERPRINT "SHA256:"
#define FINGERPRINT_LEN 50

static int read_key(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		    const struct policy_place *place)
{
	const char *text = item->string.data;
	size_t len = strlen(text);

	if (len == 0 || len > COMMENT_MAX || len != item->string.len)
		return policy_refuse(b, place, NULL, "A key is named by its fingerprint or its comment.");
	if (strncmp(text, "MD5:", 4) == 0 ||
	    (strncmp(text, FINGERPRINT, strlen(FINGERPRINT)) == 0 && len != FINGERPRINT_LEN))
		return policy_refuse(b, place, "Copy it from ssh-add -l.",
				     "\"%s\" is no fingerprint of the form SHA256:, with 43 characters.",
				     json_printable(text).text);
	if (policy_list_of(b, key)->count >= LIMIT_SSH_KEYS)
		return policy_refuse(b, place, NULL, "There are more than %u keys.", LIMIT_SSH_KEYS);
	return policy_list_append(b, policy_list_of(b, key), text, place->line);
}

int policy_read_ssh_keys(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			 const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_key);
}

/* "name" or "name:port", port 22 left out: as known_hosts knows it. */
static int read_host_name(const struct policy_builder *b, const char *text, const struct policy_place *place,
			  char ret[HOSTNAME_MAX + 8])
{
	const char *colon = strchr(text, ':');
	char name[HOSTNAME_MAX + 1];
	uint16_t port = 22;
	_cleanup_free_ char *copy = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
	int r = copy ? hostname_canonical_idn(copy, name) : -ENOMEM;

	if (r == -ENOMEM)
		return policy_no_memory(b);
	if (r == 0 && colon && (number_parse_port(colon + 1, strlen(colon + 1), &port) < 0))
		r = -EINVAL;
	if (r < 0)
		return policy_refuse(b, place, "Write it as in \"git.example.com\" or \"git.example.com:2222\".",
				     "\"%s\" is not the name of a host.", json_printable(text).text);
	if (port == 22)
		snprintf(ret, HOSTNAME_MAX + 8, "%s", name);
	else
		snprintf(ret, HOSTNAME_MAX + 8, "%s:%u", name, port);
	return 0;
}

static int read_host(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		     const struct policy_place *place)
{
	char host[HOSTNAME_MAX + 8];
	int r = read_host_name(b, item->string.data, place, host);

	return r < 0 ? r : policy_list_append(b, policy_list_of(b, key), host, place->line);
}

int policy_read_ssh_hosts(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			  const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_host);
}

/* Where the administrator says which keys a host has, nobody else does. */
static bool is_settled(const struct policy_builder *b, const char *host)
{
	const struct policy *p = b->policy;

	for (size_t i = 0; i < p->n_ssh_host_keys && b->layer != POLICY_ADMINISTRATOR; i++)
		if (p->ssh_host_keys[i].origin.layer == POLICY_ADMINISTRATOR &&
		    strcmp(p->ssh_host_keys[i].name, host) == 0)
			return true;
	return false;
}

static int read_host_key(const struct policy_builder *b, const char *host, const struct json_value *item,
			 const struct policy_place *place)
{
	struct policy *p = b->policy;
	uint8_t bytes[LIMIT_SSH_KEY];
	size_t len;

	if (item->type != JSON_STRING)
		return policy_refuse(b, place, NULL, "Each host key must be a string, not %s.",
				     json_type_name(item->type));
	if (ssh_public_key_parse(item->string.data, strlen(item->string.data), bytes, sizeof(bytes), &len) < 0)
		return policy_refuse(b, place, "Copy it from known_hosts or ssh-keyscan: \"ssh-ed25519 AAAA...\".",
				     "\"%s\" is no public key of a kind that can be checked.",
				     json_printable(item->string.data).text);
	if (p->n_ssh_host_keys >= LIMIT_SSH_HOST_KEYS)
		return policy_refuse(b, place, NULL, "There are more than %u host keys.", LIMIT_SSH_HOST_KEYS);
	return policy_pair_append(b, &p->ssh_host_keys, &p->n_ssh_host_keys, host, item->string.data, item->line);
}

static int read_host_keys(const struct policy_builder *b, const struct json_member *member,
			  const struct policy_place *place)
{
	const struct json_value *list = &member->value;
	char host[HOSTNAME_MAX + 8];
	int r = read_host_name(b, member->name, place, host);

	if (r < 0)
		return r;
	if (list->type != JSON_ARRAY)
		return policy_refuse(b, place, NULL, "The value must be an array of public keys, not %s.",
				     json_type_name(list->type));
	if (is_settled(b, host))
		return 0;
	for (size_t i = 0; r == 0 && i < list->array.count; i++)
		r = read_host_key(b, host, &list->array.items[i], place);
	return r;
}

int policy_read_ssh_host_keys(const struct policy_builder *b, const struct policy_key *key,
			      const struct json_value *value, const struct policy_place *place)
{
	if (value->type != JSON_OBJECT)
		return policy_refuse(b, place, NULL, "The value must be an object, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct policy_place at = { .line = member->line };
		int r;

		snprintf(at.key, sizeof(at.key), "%s.%.30s", key->path, json_printable(member->name).text);
		r = read_host_keys(b, member, &at);
		if (r < 0)
			return r;
	}
	return 0;
}

bool policy_lends_ssh(const struct policy *p)
{
	return p->ssh_enabled.on && p->ssh_keys.count > 0 && (p->ssh_git.on || p->ssh_hosts.count > 0);
}
