#include "client/policy/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "client/policy/policy_texts.h"
#include "json/bytes.h"

const struct json_value *reload_find(const struct client *client, const char *session, struct call *call,
				     struct error *e)
{
	int r;

	json_write_member_string(call_begin(call, "org.isod.Show", 0), "session", session);
	r = call_send(call, client, e);
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	return r == 0 ? call_member(call, "session", JSON_OBJECT, e) : NULL;
}

char *reload_project(const struct json_value *session)
{
	const struct json_value *project = json_get(session, "project");
	char *path;

	if (!project || project->type != JSON_STRING)
		return strdup("");
	path = malloc(project->string.len + 1);
	if (path && json_bytes_decode(project->string.data, project->string.len, path) < 0)
		path[0] = '\0';
	return path;
}

static int collect(const struct client *client, const char *session, const struct option_list *files,
		   struct policy_texts *ret, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	const struct json_value *found = reload_find(client, session, &call, e);
	_cleanup_free_ char *project = found ? reload_project(found) : NULL;

	if (!found)
		return -ENOENT;
	return policy_texts_collect(ret, project && project[0] ? project : NULL, files, e);
}

int reload_session(const struct client *client, const char *session, const struct option_list *files, struct call *call,
		   struct error *e)
{
	struct policy_texts texts = { .count = 0 };
	int r = collect(client, session, files, &texts, e);

	if (r == 0) {
		struct json_writer *w = call_begin(call, "org.isod.PolicyReload", 0);

		json_write_member_string(w, "session", session);
		policy_texts_write(&texts, w);
		r = call_send(call, client, e);
	}
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	policy_texts_done(&texts);
	return r;
}
