/* hosts: {"ok.example": ["127.0.0.2"]}, the administrator's own answers. They pass the check for private addresses. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "json/printable.h"
#include "policy/address.h"
#include "policy/hostname.h"
#include "policy/policy_key.h"

#define HOSTS_MAX 4096

static bool can_be_dialled(int family, const uint8_t address[16])
{
	static const uint8_t unspecified[16];

	if (family == AF_INET)
		return address[0] != 0 && address[0] < 224;
	return address[0] != 0xff && memcmp(address, unspecified, sizeof(unspecified)) != 0;
}

static int read_address(const struct policy_builder *b, const struct json_value *value, struct egress_pin *pin,
			const struct policy_place *place)
{
	uint8_t parsed[16], address[16];
	int family;

	if (value->type != JSON_STRING)
		return policy_refuse(b, place, NULL, "Each address must be a string, not %s.",
				     json_type_name(value->type));
	family = address_parse(value->string.data, value->string.len, parsed);
	if (family < 0)
		return policy_refuse(b, place, "Write it as in \"192.0.2.7\" or \"2001:db8::7\".",
				     "\"%s\" is not an address in its usual form.",
				     json_printable(value->string.data).text);
	family = address_unwrap(family, parsed, address);
	if (!can_be_dialled(family, address))
		return policy_refuse(b, place, NULL, "No host can be reached at \"%s\".",
				     json_printable(value->string.data).text);
	pin->addresses[pin->n_addresses].family = (uint8_t)family;
	memcpy(pin->addresses[pin->n_addresses].address, address, sizeof(address));
	pin->n_addresses++;
	return 0;
}

static int read_name(const struct policy_builder *b, const char *text, char ret[HOSTNAME_MAX + 1],
		     const struct policy_place *place)
{
	int r = hostname_canonical_idn(text, ret);

	if (r == -ENOMEM)
		return policy_no_memory(b);
	if (r < 0)
		return policy_refuse(b, place, "Write one name as in \"git.example.com\", without port or star.",
				     "\"%s\" is not a host name.", json_printable(text).text);
	if (hostname_is_localhost(ret))
		return policy_refuse(b, place, NULL, "\"%s\" never leaves the sandbox, so it cannot be pinned.",
				     json_printable(text).text);
	for (uint32_t i = 0; i < b->policy->egress.n_pins; i++)
		if (strcmp(b->policy->egress.pins[i].name, ret) == 0)
			return policy_refuse(b, place, NULL, "\"%s\" is named twice.", json_printable(text).text);
	return 0;
}

/* The addresses as they will be dialled, for policy_write(). */
static int append_pairs(const struct policy_builder *b, const struct egress_pin *pin, uint32_t line)
{
	char text[64];
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < pin->n_addresses; i++)
		r = policy_pair_append(b, &b->policy->hosts, &b->policy->n_hosts, pin->name,
				       address_format(pin->addresses[i].family, pin->addresses[i].address, text), line);
	return r;
}

static int read_host(const struct policy_builder *b, const struct json_member *member, const struct policy_place *place)
{
	const struct json_value *list = &member->value;
	struct egress_pin pin = { .n_addresses = 0 };
	char name[HOSTNAME_MAX + 1];
	int r = read_name(b, member->name, name, place);

	if (r < 0)
		return r;
	if (list->type != JSON_ARRAY || list->array.count == 0 || list->array.count > LIMIT_PINNED_ADDRESSES)
		return policy_refuse(b, place, NULL, "The value must be an array of 1 to %u addresses.",
				     LIMIT_PINNED_ADDRESSES);
	for (size_t i = 0; i < list->array.count; i++) {
		r = read_address(b, &list->array.items[i], &pin, place);
		if (r < 0)
			return r;
	}
	pin.name = strdup(name);
	if (!pin.name)
		return policy_no_memory(b);
	r = policy_pin_append(b, &pin);
	if (r < 0) {
		free((char *)pin.name);
		return r;
	}
	return append_pairs(b, &pin, member->line);
}

int policy_read_hosts(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
		      const struct policy_place *place)
{
	if (b->layer != POLICY_ADMINISTRATOR)
		return policy_refuse(b, place, "Ask the administrator to put it into /etc/isod/policy.json.",
				     "Only the administrator's policy may say which address a host has.");
	if (value->type != JSON_OBJECT)
		return policy_refuse(b, place, NULL, "The value must be an object, not %s.",
				     json_type_name(value->type));
	if (value->object.count > HOSTS_MAX)
		return policy_refuse(b, place, NULL, "There are more than %u hosts.", HOSTS_MAX);
	for (size_t i = 0; i < value->object.count; i++) {
		const struct json_member *member = &value->object.members[i];
		struct policy_place at = { .line = member->line };
		int r;

		snprintf(at.key, sizeof(at.key), "%s.%.48s", key->path, json_printable(member->name).text);
		r = read_host(b, member, &at);
		if (r < 0)
			return r;
	}
	return 0;
}
