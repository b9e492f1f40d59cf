/* sandbox.network.upstreamProxy: {"url": "http://proxy.example:3128", "authFile": "proxy-auth", "caFile":
 * "proxy-ca.pem", "bypass": [...]}. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "json/printable.h"
#include "policy/address.h"
#include "policy/hostname.h"
#include "policy/policy_key.h"

#define FORM "Write it as in \"http://proxy.example.com:3128\"."
#define SCHEME "http://"
#define SCHEME_TLS "https://"
#define FOLDER "/etc/isod/"
#define FILE_NAME_MAX 64
/* Patterns of places that are near: a company has tens of them. */
#define BYPASS_MAX 1024

/* The host of the URL, with its port. 0, -EINVAL, -ENOMEM. */
static int parse_host(const char *text, size_t len, struct egress_proxy *ret)
{
	_cleanup_free_ char *copy = NULL;
	char name[HOSTNAME_MAX + 1];
	const char *host;
	size_t host_len;
	bool v6;
	int r;

	if (hostname_split_port(text, len, &host, &host_len, &v6, &ret->port) < 0 || ret->port == 0)
		return -EINVAL;
	r = address_parse(host, host_len, ret->address);
	if (r > 0) {
		ret->family = (uint8_t)r;
		return v6 == (r == AF_INET6) ? 0 : -EINVAL;
	}
	copy = v6 ? NULL : strndup(host, host_len);
	if (!copy)
		return v6 ? -EINVAL : -ENOMEM;
	r = hostname_canonical_idn(copy, name);
	if (r < 0)
		return r;
	ret->name = strdup(name);
	return ret->name ? 0 : -ENOMEM;
}

/* Its text is not repeated: people write passwords into URLs. */
static int read_url(const struct policy_builder *b, const char *url, const struct policy_place *place)
{
	struct policy_proxy *proxy = &b->policy->proxy;
	const char *host;
	size_t len;
	int r;

	if (strchr(url, '@'))
		return policy_refuse(
			b, place, "Write \"user:password\" into a file of its own and name it in \"authFile\".",
			"The URL of the proxy may hold no user and no password: everybody reads policies.");
	proxy->tls = strncmp(url, SCHEME_TLS, strlen(SCHEME_TLS)) == 0;
	if (!proxy->tls && strncmp(url, SCHEME, strlen(SCHEME)) != 0)
		return policy_refuse(b, place, FORM,
				     "The URL of the proxy does not begin with \"" SCHEME "\" or \"" SCHEME_TLS "\".");
	host = url + strlen(proxy->tls ? SCHEME_TLS : SCHEME);
	len = strlen(host);
	if (len > 0 && host[len - 1] == '/')
		len--;
	r = parse_host(host, len, &proxy->way);
	if (r == -ENOMEM)
		return policy_no_memory(b);
	if (r < 0)
		return policy_refuse(b, place, FORM, "The URL of the proxy does not name a host and its port.");
	proxy->url = arena_copy(b->arena, url, strlen(url));
	return proxy->url ? 0 : policy_no_memory(b);
}

/* Only there is it clear who can write it, and isod opens no file that isod-control could choose elsewhere. */
static int read_file_name(const struct policy_builder *b, const char *text, const struct policy_place *place,
			  const char *remedy, const char **ret)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *name = strncmp(text, FOLDER, strlen(FOLDER)) == 0 ? text + strlen(FOLDER) : text;
	size_t len = strlen(name);

	if (len == 0 || len > FILE_NAME_MAX || name[0] == '.' || strspn(name, letters) != len)
		return policy_refuse(b, place, remedy, "\"%s\" does not name a file in " FOLDER ".",
				     json_printable(text).text);
	*ret = arena_copy(b->arena, name, len);
	return *ret ? 0 : policy_no_memory(b);
}

static int read_bypass(const struct policy_builder *b, const struct json_value *list, const struct policy_place *place)
{
	struct policy_proxy *proxy = &b->policy->proxy;
	struct egress_rules *rules = &proxy->way.bypass;

	if (list->type != JSON_ARRAY)
		return policy_refuse(b, place, NULL, "The value must be an array of strings, not %s.",
				     json_type_name(list->type));
	if (list->array.count > BYPASS_MAX)
		return policy_refuse(b, place, NULL, "There are more than %u entries.", BYPASS_MAX);
	rules->rules = calloc(list->array.count + 1, sizeof(*rules->rules));
	if (!rules->rules)
		return policy_no_memory(b);
	for (size_t i = 0; i < list->array.count; i++) {
		const struct json_value *item = &list->array.items[i];
		struct policy_place at = { .line = item->line };
		struct error cause = ERROR_INIT;

		snprintf(at.key, sizeof(at.key), "%.38s[%zu]", place->key, i);
		if (item->type != JSON_STRING)
			return policy_refuse(b, &at, NULL, "The value must be a string, not %s.",
					     json_type_name(item->type));
		if (egress_rule_parse(item->string.data, true, &rules->rules[rules->n_rules], &cause) < 0)
			return policy_refuse_cause(b, &at, &cause);
		rules->n_rules++;
		if (policy_list_append(b, &proxy->bypass, item->string.data, item->line) < 0)
			return policy_no_memory(b);
	}
	return 0;
}

static int read_member(const struct policy_builder *b, const struct policy_key *key, const struct json_member *member)
{
	const struct json_value *value = &member->value;
	struct policy_place at = { .line = member->line };
	bool url = strcmp(member->name, "url") == 0, ca = strcmp(member->name, "caFile") == 0;

	snprintf(at.key, sizeof(at.key), "%s.%.20s", key->path, json_printable(member->name).text);
	if (strcmp(member->name, "bypass") == 0)
		return read_bypass(b, value, &at);
	if (!url && !ca && strcmp(member->name, "authFile") != 0)
		return policy_refuse(b, &at, "It has \"url\", \"authFile\", \"caFile\" and \"bypass\".",
				     "There is an unknown key \"%s\".", json_printable(member->name).text);
	if (value->type != JSON_STRING)
		return policy_refuse(b, &at, NULL, "The value must be a string, not %s.", json_type_name(value->type));
	if (url)
		return read_url(b, value->string.data, &at);
	if (ca)
		return read_file_name(b, value->string.data, &at,
				      "Put it beside the policy, as in \"" FOLDER "proxy-ca.pem\", mode 644, of root.",
				      &b->policy->proxy.ca_file);
	return read_file_name(b, value->string.data, &at,
			      "Put it beside the policy, as in \"" FOLDER "proxy-auth\", mode 600, of root.",
			      &b->policy->proxy.auth_file);
}

int policy_read_proxy(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place)
{
	struct policy_proxy *proxy = &b->policy->proxy;
	int r;

	if (b->layer != POLICY_ADMINISTRATOR)
		return policy_refuse(b, place, "Ask the administrator to put it into /etc/isod/policy.json.",
				     "Only the administrator's policy may say which proxy leads out.");
	if (value->type == JSON_NULL)
		return 0;
	if (proxy->url)
		return policy_refuse(b, place, NULL, "There is more than one upstream proxy.");
	if (value->type != JSON_OBJECT)
		return policy_refuse(b, place, FORM, "The value must be an object, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->object.count; i++) {
		r = read_member(b, key, &value->object.members[i]);
		if (r < 0)
			return r;
	}
	if (!proxy->url)
		return policy_refuse(b, place, FORM, "The object has no \"url\".");
	if (proxy->ca_file && !proxy->tls)
		return policy_refuse(b, place, "Write \"https://\", or leave \"caFile\" out.",
				     "There is a \"caFile\" for a proxy that is spoken to without TLS.");
	proxy->origin = policy_builder_origin(b, place->line);
	return egress_rules_prepare(&proxy->way.bypass) < 0 ? policy_no_memory(b) : 0;
}
