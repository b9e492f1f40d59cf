#include "client/run/run_environment.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "json/write.h"
#include "policy/environment.h"

#define SEPARATORS " \t\n,"

/* Variables whose value is a list of names to pass, for one run. */
static const char *const allow_variables[] = { "ISO_ALLOW", "CLAUDE_ISO_ALLOW" };

static const char *value_of(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static bool is_named(const struct run_environment *r, const char *name)
{
	for (size_t i = 0; i < r->n_named; i++)
		if (strcmp(r->named[i], name) == 0)
			return true;
	return false;
}

static int add_named(struct run_environment *r, const char *name, size_t len, const char *where, struct error *e)
{
	_cleanup_free_ char *copy = strndup(name, len);
	char **grown;

	if (!copy)
		return -ENOMEM;
	if (!environment_name_is_valid(copy, len))
		return error_set(e, ERROR_INVALID, EINVAL, where,
				 "A name is letters, digits and _, and begins with no digit.",
				 "\"%s\" is not the name of a variable.", copy);
	if (is_named(r, copy))
		return 0;
	grown = reallocarray(r->named, r->n_named + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->named = grown;
	r->named[r->n_named++] = take_ptr(copy);
	return 0;
}

/* A later value of the same name replaces an earlier one where replace is set. */
static int add_variable(struct run_environment *r, const char *name, size_t len, const char *value, bool replace)
{
	struct run_variable *grown;

	for (size_t i = 0; i < r->n_variables; i++) {
		if (strncmp(r->variables[i].name, name, len) != 0 || r->variables[i].name[len] != '\0')
			continue;
		if (replace)
			r->variables[i].value = value;
		return 0;
	}
	grown = reallocarray(r->variables, r->n_variables + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	r->variables = grown;
	grown[r->n_variables].name = strndup(name, len);
	grown[r->n_variables].value = value;
	if (!grown[r->n_variables].name)
		return -ENOMEM;
	r->n_variables++;
	return 0;
}

static int name_all(struct run_environment *r, char *const *environment, const struct option_list *named,
		    struct error *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(allow_variables); i++) {
		const char *at = value_of(environment, allow_variables[i]);

		while (at && *(at += strspn(at, SEPARATORS))) {
			size_t len = strcspn(at, SEPARATORS);
			int r2 = add_named(r, at, len, allow_variables[i], e);

			if (r2 < 0)
				return r2;
			at += len;
		}
	}
	for (size_t i = 0; i < named->count; i++) {
		int r2 = add_named(r, named->items[i], strcspn(named->items[i], "="), "--env", e);

		if (r2 < 0)
			return r2;
	}
	return 0;
}

/* A pattern ends in '*'; it never reaches a variable that runs code in whoever inherits it. */
static bool is_passed_by(const struct policy_list *pass, const char *name)
{
	for (size_t i = 0; pass && i < pass->count; i++) {
		const char *text = pass->items[i].text;
		size_t len = strlen(text);

		if (strcmp(text, name) == 0)
			return true;
		if (len > 0 && text[len - 1] == '*' && strncmp(text, name, len - 1) == 0 &&
		    !environment_is_injection(name))
			return true;
	}
	return false;
}

/* EDITOR and its like are run by a shell: a value that is more than a program with plain options stays here. */
static bool is_run_by_shell(const char *name)
{
	static const char *const names[] = { "EDITOR", "VISUAL", "PAGER" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int note(struct run_environment *r, const char *name, const char *text)
{
	int r2 = buffer_printf(&r->notes, "%s %s", name, text);

	return r2 < 0 ? r2 : buffer_append(&r->notes, "", 1);
}

static int select_one(struct run_environment *r, const char *entry, const struct policy_list *pass)
{
	size_t len = strcspn(entry, "=");
	_cleanup_free_ char *name = NULL;
	bool named;

	if (entry[len] != '=' || len == 0)
		return 0;
	name = strndup(entry, len);
	if (!name)
		return -ENOMEM;
	named = is_named(r, name) || is_passed_by(pass, name);
	if (!named && !environment_passes(name))
		return 0;
	if (!named && is_run_by_shell(name) && !environment_value_is_plain_command(entry + len + 1))
		return note(r, name, "was left out: its value is a shell command.");
	return add_variable(r, name, len, entry + len + 1, false);
}

static bool has_variable(const struct run_environment *r, const char *name)
{
	for (size_t i = 0; i < r->n_variables; i++)
		if (strcmp(r->variables[i].name, name) == 0)
			return true;
	return false;
}

int run_environment_select(char *const *environment, const struct option_list *named, const struct policy_list *pass,
			   struct run_environment *ret, struct error *e)
{
	int r = name_all(ret, environment, named, e);

	for (char *const *entry = environment; r == 0 && *entry; entry++)
		r = select_one(ret, *entry, pass);
	for (size_t i = 0; r == 0 && i < named->count; i++) {
		const char *equals = strchr(named->items[i], '=');

		if (equals)
			r = add_variable(ret, named->items[i], (size_t)(equals - named->items[i]), equals + 1, true);
	}
	for (size_t i = 0; r == 0 && i < ret->n_named; i++)
		if (!has_variable(ret, ret->named[i]))
			r = note(ret, ret->named[i], "is named, but not set.");
	if (r < 0)
		error_set(e, ERROR_INTERNAL, -r, "environment", "", "The variables could not be collected.");
	return r;
}

void run_environment_done(struct run_environment *r)
{
	for (size_t i = 0; i < r->n_variables; i++)
		free(r->variables[i].name);
	for (size_t i = 0; i < r->n_named; i++)
		free(r->named[i]);
	free(r->variables);
	free(r->named);
	buffer_done(&r->notes);
}

void run_environment_write(const struct run_environment *r, struct json_writer *w)
{
	json_write_key(w, "env");
	json_write_array(w);
	for (size_t i = 0; i < r->n_variables; i++) {
		json_write_object(w);
		json_write_member_string(w, "name", r->variables[i].name);
		json_write_member_string(w, "value", r->variables[i].value);
		json_write_object_end(w);
	}
	json_write_array_end(w);
	json_write_key(w, "named");
	json_write_array(w);
	for (size_t i = 0; i < r->n_named; i++)
		json_write_string(w, r->named[i]);
	json_write_array_end(w);
}
