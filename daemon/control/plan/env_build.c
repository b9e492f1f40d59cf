#include "daemon/control/plan/env_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "daemon/control/plan/env_names.h"
#include "daemon/control/plan/view_paths.h"
#include "daemon/wire/netns.h"
#include "daemon/wire/plan.h"
#include "policy/environment.h"
#include "proto/schema.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)
#define PROXY_URL "http://127.0.0.1:" TEXT(NETNS_PROXY_PORT)

/* Who says it; a later one overrides an earlier one. */
enum origin { FROM_DEFAULT, FROM_CLIENT, FROM_POLICY, FROM_VIEW };

struct entry {
	const char *name;
	const char *value;
	enum origin origin;
};

struct draft {
	struct entry *entries;
	size_t count;
};

static void draft_done(struct draft *d)
{
	free(d->entries);
}

static void put(struct draft *d, const char *name, const char *value, enum origin origin)
{
	d->entries[d->count++] = (struct entry){ name, value, origin };
}

/* The session has one way out, which the view names itself: a proxy of the host's cannot be reached from inside. */
static bool is_proxy(const char *name)
{
	size_t len = strlen(name);

	return len >= 6 && strcasecmp(name + len - 6, "_proxy") == 0;
}

static bool is_command(const char *name)
{
	return strcmp(name, "EDITOR") == 0 || strcmp(name, "VISUAL") == 0 || strcmp(name, "PAGER") == 0;
}

/* XDG_CONFIG_HOME and its like, where they name a folder that the view does not have. */
static bool is_lost_folder(const char *name, const char *value, const char *home)
{
	size_t len = strlen(name);

	if (strncmp(name, "XDG_", 4) != 0 || len < 5 || strcmp(name + len - 5, "_HOME") != 0)
		return false;
	return !view_path_is_within(value, home);
}

/* Whether a variable of the client goes in; says so in a note where the user should know. */
static bool passes(const struct env_input *in, const struct env_names *names, const char *name, const char *value,
		   struct string_list *notes)
{
	if (is_proxy(name)) {
		if (env_names_has_exact(names, name))
			string_list_printf(notes, "%s does not pass: the sandbox has a proxy of its own", name);
		return false;
	}
	if (env_names_has(names, name)) {
		if (environment_is_injection(name))
			string_list_printf(notes, "%s passes since it is named; it can run code in every program",
					   name);
		else if (environment_is_credential(name))
			string_list_printf(notes, "%s passes since it is named", name);
		return true;
	}
	if (!environment_passes(name) || environment_is_injection(name))
		return false;
	if (is_command(name) && !environment_value_is_plain_command(value)) {
		string_list_printf(notes, "%s does not pass: its value is more than a program with options", name);
		return false;
	}
	return !is_lost_folder(name, value, in->caller->home);
}

static int add_client(const struct env_input *in, const struct env_names *names, struct draft *d,
		      struct string_list *notes, struct error *e)
{
	const struct schema_variable *env = in->env->items;

	for (size_t i = 0; i < in->env->count; i++) {
		if (!environment_name_is_valid(env[i].name, strlen(env[i].name)))
			return error_set(e, ERROR_INVALID, EINVAL, "environment",
					 "A name has letters, digits and _ and does not begin with a digit.",
					 "Entry %zu of env is not the name of a variable.", i);
		if (passes(in, names, env[i].name, env[i].value, notes))
			put(d, env[i].name, env[i].value, FROM_CLIENT);
	}
	return 0;
}

/* What the view decides. texts owns what is made here. */
static int add_view(const struct env_input *in, struct draft *d, struct string_list *texts)
{
	const char *runtime = string_list_printf(texts, "/run/user/%u", in->caller->uid);
	const struct {
		const char *name, *value;
	} fixed[] = {
		{ "HOME", in->caller->home },
		{ "USER", in->caller->name },
		{ "LOGNAME", in->caller->name },
		{ "SHELL", in->caller->shell },
		{ "PWD", in->pwd },
		{ "XDG_RUNTIME_DIR", runtime },
		{ "ISOD_SESSION", in->id },
		{ "HTTP_PROXY", PROXY_URL },
		{ "HTTPS_PROXY", PROXY_URL },
		{ "http_proxy", PROXY_URL },
		{ "https_proxy", PROXY_URL },
		/* Yarn since 2 reads no other, and tries for eight seconds where it is told a name has no address. */
		{ "YARN_HTTPS_PROXY", PROXY_URL },
		{ "NO_PROXY", "localhost,127.0.0.1,::1" },
		{ "no_proxy", "localhost,127.0.0.1,::1" },
		{ "SSH_AUTH_SOCK", PLAN_SSH_SOCKET },
	};

	if (!runtime)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(fixed) - !in->ssh; i++) /* the last one only where there is one */
		put(d, fixed[i].name, fixed[i].value, FROM_VIEW);
	return 0;
}
#define VIEW_VARIABLES 15

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (int)y->origin - (int)x->origin;
}

static int emit(struct draft *d, struct string_list *env, struct error *e)
{
	qsort(d->entries, d->count, sizeof(*d->entries), compare);
	for (size_t i = 0; i < d->count; i++) {
		const struct entry *this = &d->entries[i], *last = i ? this - 1 : NULL;

		if (last && strcmp(last->name, this->name) == 0) {
			if (this->origin == FROM_CLIENT && last->origin == FROM_CLIENT)
				return error_set(e, ERROR_INVALID, EINVAL, "environment", NULL,
						 "The variable %s is given twice.", this->name);
			/* A later one that is overridden may still hide a repeated one behind it. */
			continue;
		}
		if (!string_list_printf(env, "%s=%s", this->name, this->value))
			return error_set(e, ERROR_INTERNAL, ENOMEM, "environment", NULL, "There is no memory left.");
	}
	return 0;
}

int env_build(const struct env_input *in, struct string_list *env, struct string_list *notes, struct error *e)
{
	_cleanup_env_names_ struct env_names names = ENV_NAMES_INIT;
	_cleanup_string_list_ struct string_list texts = STRING_LIST_INIT;
	__attribute__((cleanup(draft_done))) struct draft d = { 0 };
	int r;

	if (in->env->count > ENV_VARIABLES_MAX || in->named->count > ENV_VARIABLES_MAX)
		return error_set(e, ERROR_LIMIT, E2BIG, "environment", NULL, "There are more than %d variables.",
				 ENV_VARIABLES_MAX);
	r = env_names_make(in->named, &in->policy->environment_pass, &names, e);
	if (r < 0)
		return r;
	d.entries = calloc(in->env->count + in->policy->n_environment_set + VIEW_VARIABLES + 1, sizeof(*d.entries));
	if (!d.entries)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "environment", NULL, "There is no memory left.");
	put(&d, "PATH", DEFAULT_PATH, FROM_DEFAULT);
	r = add_client(in, &names, &d, notes, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < in->policy->n_environment_set; i++)
		put(&d, in->policy->environment_set[i].name, in->policy->environment_set[i].value, FROM_POLICY);
	r = add_view(in, &d, &texts);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "environment", NULL, "There is no memory left.");
	return emit(&d, env, e);
}
