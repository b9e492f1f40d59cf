#include "client/policy/grant_file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/policy/policy_host.h"
#include "client/policy/policy_store.h"
#include "client/policy/policy_texts.h"
#include "client/policy/reload.h"

int grant_file_write(const struct client *client, const char *session, const char *host, bool always, bool yes,
		     struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *found = reload_find(client, session, &call, e);
	const struct json_value *uid = found ? json_get(found, "uid") : NULL;
	_cleanup_free_ char *project = found ? reload_project(found) : NULL, *file = NULL;
	char rule[EGRESS_RULE_TEXT_MAX];
	const char *rules[] = { rule };
	int r;

	if (!found)
		return -ENOENT;
	if (!uid || uid->type != JSON_INTEGER || uid->integer != geteuid())
		return error_set(e, ERROR_REFUSED, EPERM, "grant", "Its owner can.",
				 "The session is another user's: what is written down is the user's own.");
	r = policy_host_check_grant(json_get(call.reply.parameters, "policy"), host, rule, e);
	if (r < 0)
		return r;
	if (always)
		file = policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));
	else if (project)
		file = policy_store_project_path(project);
	if (!file)
		return error_set(e, ERROR_INVALID, ENOENT, "grant", "", "There is no home folder to keep it in.");
	return policy_store_allow(file, always ? NULL : project, rules, 1, yes, e);
}
