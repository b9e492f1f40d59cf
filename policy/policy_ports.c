/* sandbox.network.publish and hostPorts: which ports of one loopback, the host's or the session's, lead to the other
 * one. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "json/printable.h"
#include "policy/policy_key.h"

/* Below it a port says that an administrator serves it. */
#define HOST_PORT_MIN 1024

static const char forms[] = "Write PORT, HOSTPORT:PORT or :PORT (any free one of the host).";

int policy_publish_parse(const char *text, uint16_t *ret_host, uint16_t *ret_inside)
{
	const char *colon = strchr(text, ':'), *inside = colon ? colon + 1 : text;
	size_t n = colon ? (size_t)(colon - text) : 0;

	if (number_parse_port(inside, strlen(inside), ret_inside) < 0)
		return -EINVAL;
	*ret_host = colon ? 0 : *ret_inside;
	if (n > 0 && !(n == 1 && text[0] == '0') && number_parse_port(text, n, ret_host) < 0)
		return -EINVAL;
	return *ret_host == 0 || *ret_host >= HOST_PORT_MIN ? 0 : -ERANGE;
}

static int add(const struct policy_builder *b, struct policy_list *list, const char *text,
	       const struct policy_place *place)
{
	uint16_t host, inside, other_host, other_inside;
	int r = policy_publish_parse(text, &host, &inside);

	if (r == -ERANGE)
		return policy_refuse(b, place, "Name a port of the host too, as in \"8080:80\".",
				     "Port %u of the host is below %u, where a user cannot listen.", host,
				     HOST_PORT_MIN);
	if (r < 0)
		return policy_refuse(b, place, forms, "\"%s\" is no port.", json_printable(text).text);
	for (size_t i = 0; i < list->count; i++) {
		if (policy_publish_parse(list->items[i].text, &other_host, &other_inside) < 0)
			continue;
		if (other_inside == inside && other_host == host)
			return 0;
		if (host != 0 && other_host == host)
			return policy_refuse(b, place, "Choose another port of the host for one of them.",
					     "Port %u of the host leads to port %u already.", host, other_inside);
	}
	if (list->count >= LIMIT_PUBLISHED_PORTS)
		return policy_refuse(b, place, NULL, "There are more than %u ports.", LIMIT_PUBLISHED_PORTS);
	return policy_list_append(b, list, text, place->line);
}

typedef int add_fn(const struct policy_builder *b, struct policy_list *list, const char *text,
		   const struct policy_place *place);

static int read_ports(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place, add_fn *fn, const char *remedy)
{
	if (value->type != JSON_ARRAY)
		return policy_refuse(b, place, remedy, "The value must be an array of ports, not %s.",
				     json_type_name(value->type));
	for (size_t i = 0; i < value->array.count; i++) {
		const struct json_value *item = &value->array.items[i];
		struct policy_place at = { .line = item->line };
		char number[24];
		int r;

		snprintf(at.key, sizeof(at.key), "%.40s[%zu]", key->path, i);
		if (item->type == JSON_INTEGER)
			snprintf(number, sizeof(number), "%lld", (long long)item->integer);
		else if (item->type != JSON_STRING)
			return policy_refuse(b, &at, remedy, "A port must be a number or a string, not %s.",
					     json_type_name(item->type));
		r = fn(b, policy_list_of(b, key), item->type == JSON_STRING ? item->string.data : number, &at);
		if (r < 0)
			return r;
	}
	return 0;
}

int policy_read_publish(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	return read_ports(b, key, value, place, add, forms);
}

static int add_host_port(const struct policy_builder *b, struct policy_list *list, const char *text,
			 const struct policy_place *place)
{
	uint16_t port;

	if (number_parse_port(text, strlen(text), &port) < 0)
		return policy_refuse(b, place, "Write the number of a port, as in 5432.", "\"%s\" is no port.",
				     json_printable(text).text);
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].text, text) == 0)
			return 0;
	if (list->count >= LIMIT_PUBLISHED_PORTS)
		return policy_refuse(b, place, NULL, "There are more than %u ports.", LIMIT_PUBLISHED_PORTS);
	return policy_list_append(b, list, text, place->line);
}

int policy_read_host_ports(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			   const struct policy_place *place)
{
	return read_ports(b, key, value, place, add_host_port, "Write the numbers of ports, as in [5432].");
}
