/* sandbox.network.allowUnixSockets: sockets of the host's services that a session may connect to. */
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "json/printable.h"
#include "policy/policy_key.h"
#include "view/path_pattern.h"

/* Home and project are not known yet: expanded to find what is wrong with it. */
static int check_form(const struct policy_builder *b, const char *path, const struct policy_place *place)
{
	char pattern[LIMIT_PATH];
	struct error cause = ERROR_INIT;

	if (path[0] == '@')
		return policy_refuse(b, place, "Let the service listen at a path.",
				     "\"%s\" is an abstract socket, which no rights guard.", json_printable(path).text);
	if (policy_path_expand(path, "/home", "/project", pattern, sizeof(pattern), &cause) < 0)
		return policy_refuse_cause(b, place, &cause);
	if (!path_pattern_is_literal(pattern) || strstr(path, "**"))
		return policy_refuse(b, place, "Name each socket.", "\"%s\" is a pattern.", json_printable(path).text);
	return 0;
}

static int read_socket(const struct policy_builder *b, const struct policy_key *key, const struct json_value *item,
		       const struct policy_place *place)
{
	struct policy_list *list = policy_list_of(b, key);
	_cleanup_free_ char *path = NULL;
	int r = policy_read_bytes(b, item, place, &path);

	if (r == 0)
		r = check_form(b, path, place);
	if (r < 0)
		return r;
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].text, path) == 0)
			return 0;
	if (list->count >= LIMIT_UNIX_SOCKETS)
		return policy_refuse(b, place, NULL, "There are more than %u sockets.", LIMIT_UNIX_SOCKETS);
	return policy_list_append(b, list, path, place->line);
}

int policy_read_sockets(const struct policy_builder *b, const struct policy_key *key, const struct json_value *value,
			const struct policy_place *place)
{
	return policy_read_array(b, key, value, place, read_socket);
}
