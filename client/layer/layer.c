#include "client/layer/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/cleanup.h"
#include "client/call.h"
#include "client/layer/layer_path.h"
#include "json/bytes.h"

void layer_done(struct layer *l)
{
	free(l->project);
	fd_close(l->upper);
	fd_close(l->project_fd);
}

const struct json_value *layer_list(const struct client *client, struct call *call, struct error *e)
{
	int r;

	call_begin(call, "org.isod.Layers", 0);
	r = call_send(call, client, e);
	if (r == 0)
		r = call_reply(call, CALL_TIMEOUT_MS, e);
	return r < 0 ? NULL : call_member(call, "layers", JSON_ARRAY, e);
}

static const char *text_of(const struct json_value *record, const char *member)
{
	const struct json_value *v = json_get(record, member);

	return v && v->type == JSON_STRING ? v->string.data : "";
}

static int64_t number_of(const struct json_value *record, const char *member)
{
	const struct json_value *v = json_get(record, member);

	return v && v->type == JSON_INTEGER ? v->integer : 0;
}

static bool is_newer(const struct json_value *record, const struct json_value *than)
{
	return !than || number_of(record, "startedNanoseconds") > number_of(than, "startedNanoseconds");
}

/* Bytes that stand for record's project; NULL without memory. */
static char *project_of(const struct json_value *record)
{
	const struct json_value *v = json_get(record, "project");
	char *path = v && v->type == JSON_STRING ? malloc(v->string.len + 1) : NULL;

	if (path && json_bytes_decode(v->string.data, v->string.len, path) < 0) {
		free(path);
		path = NULL;
	}
	return path;
}

static bool lies_over(const struct json_value *record, const char *cwd)
{
	_cleanup_free_ char *project = project_of(record);

	return project && layer_path_below(cwd, project) != NULL;
}

static const struct json_value *choose(const struct json_value *layers, const char *session, const char *cwd)
{
	const struct json_value *best = NULL;

	for (size_t i = 0; i < layers->array.count; i++) {
		const struct json_value *record = &layers->array.items[i];

		if (session && strcmp(text_of(record, "session"), session) == 0)
			return record;
		if (!(session ? strcmp(text_of(record, "name"), session) == 0 : lies_over(record, cwd)))
			continue;
		if (is_newer(record, best))
			best = record;
	}
	return best;
}

static int not_found(const struct call *call, const char *session, struct error *e)
{
	const struct json_value *more = json_get(call->reply.parameters, "more");

	if (more && more->type == JSON_INTEGER && more->integer > 0)
		return error_set(e, ERROR_LIMIT, E2BIG, "layer", "Ask as the user whose layer it is.",
				 "No such layer is among those that isod could list; %lld more are kept.",
				 (long long)more->integer);
	if (session)
		return error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "layer",
				 "`isoctl diff --list` lists those there are.", "No layer of a session %s is kept.",
				 session);
	return error_set(e, ERROR_NO_SUCH_SESSION, ENOENT, "layer",
			 "`isoctl diff --list` lists those there are; `isoctl run --overlay` makes one.",
			 "No layer over this folder is kept.");
}

static int fill(const struct json_value *record, struct layer *ret, struct error *e)
{
	const struct json_value *running = json_get(record, "running");
	const char *id = text_of(record, "session");

	ret->project = project_of(record);
	if (strlen(id) != ISOD_ID_LEN || !ret->project || ret->project[0] != '/')
		return error_set(e, ERROR_INTERNAL, EPROTO, "protocol", "Install isod and isoctl from one release.",
				 "isod's list of layers cannot be understood.");
	memcpy(ret->id, id, ISOD_ID_LEN);
	ret->uid = (uid_t)number_of(record, "uid");
	ret->started_ns = number_of(record, "startedNanoseconds");
	ret->running = running && running->type == JSON_BOOL && running->boolean;
	return 0;
}

int layer_find(const struct client *client, const char *session, struct layer *ret, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	const struct json_value *layers = layer_list(client, &call, e), *record;

	if (!layers)
		return -EIO;
	record = choose(layers, session, cwd ? cwd : "");
	return record ? fill(record, ret, e) : not_found(&call, session, e);
}

int layer_find_operands(const struct client *client, char **operands, struct layer *ret, char ***ret_paths,
			struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	const struct json_value *layers = layer_list(client, &call, e), *record;

	if (!layers)
		return -EIO;
	record = operands[0] ? choose(layers, operands[0], "") : NULL;
	*ret_paths = operands + (record ? 1 : 0);
	if (!record)
		record = choose(layers, NULL, cwd ? cwd : "");
	return record ? fill(record, ret, e) : not_found(&call, operands[0], e);
}

int layer_open(const struct client *client, struct layer *l, bool ended, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	struct json_writer *w = call_begin(&call, "org.isod.Layer", 0);
	int r;

	json_write_member_string(w, "session", l->id);
	json_write_member_bool(w, "ended", ended);
	r = call_send(&call, client, e);
	if (r == 0)
		r = call_reply(&call, CALL_TIMEOUT_MS, e);
	if (r < 0)
		return r;
	if (call.connection.passed < 0)
		return error_set(e, ERROR_INTERNAL, EPROTO, "protocol", "Install isod and isoctl from one release.",
				 "isod's answer brought no folder.");
	l->upper = take_fd(&call.connection.passed);
	l->project_fd = layer_path_open_top(l->project);
	if (l->project_fd < 0)
		return error_set(e, ERROR_INVALID, -l->project_fd, "project", "",
				 "The project %s cannot be opened where it was: %s.", l->project,
				 strerror(-l->project_fd));
	return 0;
}

int layer_lock(const struct layer *l, struct error *e)
{
	if (flock(l->upper, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(e, ERROR_REFUSED, EBUSY, "layer", "Wait until it has ended.",
				 "The layer is being applied by another isoctl.");
	return error_set(e, ERROR_INTERNAL, errno, "layer", "", "The layer cannot be locked: %s.", strerror(errno));
}

int layer_discard(const struct client *client, const struct layer *l, struct error *e)
{
	_cleanup_call_ struct call call = CALL_INIT;
	int r;

	json_write_member_string(call_begin(&call, "org.isod.Discard", 0), "session", l->id);
	r = call_send(&call, client, e);
	return r < 0 ? r : call_reply(&call, CALL_TIMEOUT_MS, e);
}
