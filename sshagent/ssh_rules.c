#include "sshagent/ssh_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"

#define MAGIC 0x32485353u /* "SSH2" */
#define GIT 1u
#define HOSTBOUND 2u
#define KEY_NAME_MAX 512 /* with its NUL */

int ssh_rules_encode(const struct ssh_rules *rules, struct buffer *ret)
{
	int r = buffer_append_u32(ret, MAGIC);

	if (rules->n_keys > LIMIT_SSH_KEYS || rules->n_host_keys > LIMIT_SSH_HOST_KEYS)
		return -EMSGSIZE;
	if (r == 0)
		r = buffer_append_u8(ret, (rules->git_signatures ? GIT : 0) | (rules->hostbound ? HOSTBOUND : 0));
	if (r == 0)
		r = buffer_append_u32(ret, rules->n_keys);
	if (r == 0)
		r = buffer_append_u32(ret, rules->n_host_keys);
	for (uint32_t i = 0; r == 0 && i < rules->n_keys; i++)
		r = buffer_append_block(ret, rules->keys[i], strlen(rules->keys[i]) + 1);
	for (uint32_t i = 0; r == 0 && i < rules->n_host_keys; i++) {
		const struct ssh_host_key *h = &rules->host_keys[i];

		r = buffer_append_block(ret, h->host, strlen(h->host) + 1);
		if (r == 0)
			r = buffer_append_block(ret, h->key.data, h->key.len);
	}
	return r;
}

static int decode_head(struct cursor *c, struct ssh_rules *ret)
{
	uint32_t magic;
	uint8_t flags;

	if (cursor_u32(c, &magic) < 0 || magic != MAGIC || cursor_u8(c, &flags) < 0 || flags & ~(GIT | HOSTBOUND) ||
	    cursor_u32(c, &ret->n_keys) < 0 || ret->n_keys > LIMIT_SSH_KEYS || cursor_u32(c, &ret->n_host_keys) < 0 ||
	    ret->n_host_keys > LIMIT_SSH_HOST_KEYS)
		return -EBADMSG;
	ret->git_signatures = flags & GIT;
	ret->hostbound = flags & HOSTBOUND;
	return 0;
}

static int decode_items(struct cursor *c, struct ssh_rules *ret, struct ssh_host_key *hosts, const char **keys)
{
	for (uint32_t i = 0; i < ret->n_keys; i++)
		if (cursor_string(c, KEY_NAME_MAX, &keys[i]) < 0 || keys[i][0] == '\0')
			return -EBADMSG;
	for (uint32_t i = 0; i < ret->n_host_keys; i++)
		if (cursor_string(c, SSH_HOST_NAME_MAX + 1, &hosts[i].host) < 0 ||
		    cursor_block(c, LIMIT_SSH_KEY, &hosts[i].key.data, &hosts[i].key.len) < 0 || hosts[i].key.len == 0)
			return -EBADMSG;
	return c->at == c->end ? 0 : -EBADMSG;
}

int ssh_rules_decode(const void *data, size_t len, struct ssh_rules *ret, void **ret_block)
{
	struct cursor c = { data, (const uint8_t *)data + len };
	_cleanup_free_ struct ssh_host_key *hosts = NULL;
	int r;

	*ret = (struct ssh_rules){ .n_keys = 0 };
	*ret_block = NULL;
	r = decode_head(&c, ret);
	if (r < 0)
		return r;
	hosts = calloc(1, ret->n_host_keys * sizeof(*hosts) + ret->n_keys * sizeof(char *) + 1);
	if (!hosts)
		return -ENOMEM;
	ret->host_keys = hosts;
	ret->keys = (const char *const *)(hosts + ret->n_host_keys);
	r = decode_items(&c, ret, hosts, (const char **)(hosts + ret->n_host_keys));
	if (r == 0)
		*ret_block = take_ptr(hosts);
	else
		*ret = (struct ssh_rules){ .n_keys = 0 };
	return r;
}

bool ssh_rules_name_key(const struct ssh_rules *rules, const char *fingerprint, struct ssh_span comment)
{
	for (uint32_t i = 0; i < rules->n_keys; i++) {
		bool is_fingerprint = strncmp(rules->keys[i], "SHA256:", 7) == 0;

		if (is_fingerprint ? strcmp(rules->keys[i], fingerprint) == 0 : ssh_span_is(comment, rules->keys[i]))
			return true;
	}
	return false;
}

const char *ssh_rules_host_of(const struct ssh_rules *rules, struct ssh_span key)
{
	for (uint32_t i = 0; i < rules->n_host_keys; i++)
		if (ssh_span_equals(rules->host_keys[i].key, key))
			return rules->host_keys[i].host;
	return NULL;
}
