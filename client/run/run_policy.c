#include "client/run/run_policy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "json/value.h"
#include "json/write.h"
#include "view/path_pattern.h"

static bool has_parent_component(const char *path)
{
	while (*path) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len;
	}
	return false;
}

/* A rule that stands for this path alone, whatever bytes it has. */
static char *rule_of(const char *path)
{
	size_t size = 2 * strlen(path) + 1;
	char *rule = malloc(size);

	if (rule)
		(void)path_pattern_escape(path, rule, size);
	return rule;
}

int run_policy_path(const char *typed, const char *cwd, char **ret, struct error *e)
{
	_cleanup_free_ char *real = NULL;
	char *path = NULL;

	while (typed[0] == '.' && typed[1] == '/') {
		typed += 1;
		typed += strspn(typed, "/");
		if (!*typed)
			typed = ".";
	}
	if (!*typed)
		return error_set(e, ERROR_INVALID, EINVAL, "options", "", "A path of an option is empty.");
	if (has_parent_component(typed)) {
		real = realpath(typed, NULL);
		if (!real)
			return error_set(e, ERROR_INVALID, errno, "options",
					 "Name an existing path, or one without \"..\".",
					 "The path %s leads nowhere: %s.", typed, strerror(errno));
		path = rule_of(real);
	} else if (typed[0] == '/' || (typed[0] == '~' && typed[1] == '/')) {
		path = strdup(typed);
	} else if (strcmp(typed, ".") == 0) {
		path = rule_of(cwd);
	} else if (asprintf(&path, "./%s", typed) < 0) {
		path = NULL;
	}
	if (!path)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "options", "", "There is no memory left.");
	*ret = path;
	return 0;
}

static int write_paths(struct json_writer *w, const char *key, const struct option_list *list, const char *cwd,
		       struct error *e)
{
	if (list->count == 0)
		return 0;
	json_write_key(w, key);
	json_write_array(w);
	for (size_t i = 0; i < list->count; i++) {
		_cleanup_free_ char *path = NULL;
		int r = run_policy_path(list->items[i], cwd, &path, e);

		if (!path) /* where r < 0 */
			return r;
		json_write_bytes(w, path, strlen(path));
	}
	json_write_array_end(w);
	return 0;
}

static void write_list(struct json_writer *w, const char *key, const struct option_list *list)
{
	if (list->count == 0)
		return;
	json_write_key(w, key);
	json_write_array(w);
	for (size_t i = 0; i < list->count; i++)
		json_write_string(w, list->items[i]);
	json_write_array_end(w);
}

static bool has_network(const struct run_options *o)
{
	return o->allow_domain.count || o->deny_domain.count || o->on_unlisted || o->publish.count ||
	       o->host_port.count || o->unix_socket.count;
}

static int write_network(struct json_writer *w, const struct run_options *o, const char *cwd, struct error *e)
{
	int r;

	json_write_key(w, "network");
	json_write_object(w);
	write_list(w, "allowedDomains", &o->allow_domain);
	write_list(w, "deniedDomains", &o->deny_domain);
	if (o->on_unlisted)
		json_write_member_string(w, "onUnlisted", o->on_unlisted);
	write_list(w, "publish", &o->publish);
	write_list(w, "hostPorts", &o->host_port);
	r = write_paths(w, "allowUnixSockets", &o->unix_socket, cwd, e);
	json_write_object_end(w);
	return r;
}

static int write_sandbox(struct json_writer *w, const struct run_options *o, const char *cwd, struct error *e)
{
	int r = 0;

	json_write_key(w, "sandbox");
	json_write_object(w);
	if (o->allow_read.count || o->allow_write.count || o->overlay) {
		json_write_key(w, "filesystem");
		json_write_object(w);
		r = write_paths(w, "allowRead", &o->allow_read, cwd, e);
		if (r == 0)
			r = write_paths(w, "allowWrite", &o->allow_write, cwd, e);
		if (r < 0)
			return r;
		if (o->overlay)
			json_write_member_bool(w, "overlayProject", true);
		json_write_object_end(w);
	}
	if (has_network(o))
		r = write_network(w, o, cwd, e);
	json_write_object_end(w);
	return r;
}

/* A number of the policy file's form: digits, for CPUs a decimal point too. */
static int write_number(struct json_writer *w, const char *key, const char *option, const char *text, struct error *e)
{
	_cleanup_json_ struct json_document number = JSON_DOCUMENT_INIT;

	if (text[0] < '0' || text[0] > '9' || json_read(text, strlen(text), 0, &number, NULL) < 0 ||
	    (number.root->type != JSON_INTEGER && number.root->type != JSON_DOUBLE))
		return error_set(e, ERROR_INVALID, EINVAL, "options", "See isoctl help run.",
				 "%s: \"%s\" is no number.", option, text);
	json_write_key(w, key);
	json_write_value(w, number.root);
	return 0;
}

static int write_limits(struct json_writer *w, const struct run_options *o, struct error *e)
{
	uint64_t ignored;
	int r = 0;

	json_write_key(w, "limits");
	json_write_object(w);
	if (o->memory && number_parse_size(o->memory, &ignored) < 0)
		return error_set(e, ERROR_INVALID, EINVAL, "options", "Write 512M or 8G.",
				 "--memory: \"%s\" is no size.", o->memory);
	if (o->time && number_parse_duration(o->time, &ignored) < 0)
		return error_set(e, ERROR_INVALID, EINVAL, "options", "Write 90s, 30m or 12h.",
				 "--time: \"%s\" is no duration.", o->time);
	if (o->memory)
		json_write_member_string(w, "memory", o->memory);
	if (o->time)
		json_write_member_string(w, "wall", o->time);
	if (o->pids)
		r = write_number(w, "pids", "--pids", o->pids, e);
	if (r == 0 && o->cpus)
		r = write_number(w, "cpus", "--cpus", o->cpus, e);
	json_write_object_end(w);
	return r;
}

int run_policy_write(const struct run_options *o, const char *cwd, struct buffer *out, struct error *e)
{
	bool sandbox = o->allow_read.count || o->allow_write.count || o->overlay || has_network(o);
	bool limits = o->memory || o->pids || o->cpus || o->time;
	struct json_writer *w;
	int r = 0, finished;

	if (!sandbox && !limits && !o->nesting && !o->record_input)
		return 0;
	w = json_write_new(out);
	json_write_object(w);
	if (sandbox)
		r = write_sandbox(w, o, cwd, e);
	if (r == 0 && limits)
		r = write_limits(w, o, e);
	if (r == 0 && o->nesting) {
		json_write_key(w, "process");
		json_write_object(w);
		json_write_member_bool(w, "nesting", true);
		json_write_object_end(w);
	}
	if (r == 0 && o->record_input) {
		json_write_key(w, "session");
		json_write_object(w);
		json_write_member_bool(w, "recordInput", true);
		json_write_object_end(w);
	}
	if (r == 0)
		json_write_object_end(w);
	finished = json_write_finish(w);
	if (r < 0)
		return r;
	if (finished < 0)
		return error_set(e, ERROR_LIMIT, -finished, "options", "Put the rules into a file and use --policy.",
				 "The rules of the command line are too long.");
	return 1;
}
