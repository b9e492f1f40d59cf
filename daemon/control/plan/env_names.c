#include "daemon/control/plan/env_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/plan/env_build.h"
#include "policy/environment.h"

void env_names_done(struct env_names *n)
{
	free(n->exact);
	free(n->patterns);
	*n = (struct env_names)ENV_NAMES_INIT;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add(struct env_names *n, const char *text, const char *where, size_t index, struct error *e)
{
	size_t len = strlen(text);
	bool pattern = len > 1 && text[len - 1] == '*';

	if (!environment_name_is_valid(text, pattern ? len - 1 : len))
		return error_set(e, ERROR_INVALID, EINVAL, where,
				 "A name has letters, digits and _ and does not begin with a digit; a * may end it.",
				 "Entry %zu of %s is not the name of a variable: \"%.64s\".", index, where, text);
	if (!pattern) {
		n->exact[n->n_exact++] = text;
		return 0;
	}
	if (n->n_patterns == ENV_PATTERNS_MAX)
		return error_set(e, ERROR_LIMIT, E2BIG, where, "Name the variables one by one.",
				 "There are more than %d patterns for variables.", ENV_PATTERNS_MAX);
	n->patterns[n->n_patterns++] = text;
	return 0;
}

int env_names_make(const struct json_strings *named, const struct policy_list *pass, struct env_names *ret,
		   struct error *e)
{
	_cleanup_env_names_ struct env_names n = ENV_NAMES_INIT;
	size_t count = named->count + pass->count;
	int r = 0;

	n.exact = calloc(count + 1, sizeof(*n.exact));
	n.patterns = calloc(ENV_PATTERNS_MAX, sizeof(*n.patterns));
	if (!n.exact || !n.patterns)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "environment", NULL, "There is no memory left.");
	for (size_t i = 0; i < named->count && r == 0; i++)
		r = add(&n, named->items[i], "named", i, e);
	for (size_t i = 0; i < pass->count && r == 0; i++)
		r = add(&n, pass->items[i].text, "environment.pass", i, e);
	if (r < 0)
		return r;
	qsort(n.exact, n.n_exact, sizeof(*n.exact), compare);
	*ret = n;
	n = (struct env_names)ENV_NAMES_INIT;
	return 0;
}

bool env_names_has_exact(const struct env_names *n, const char *name)
{
	return bsearch(&name, n->exact, n->n_exact, sizeof(*n->exact), compare) != NULL;
}

bool env_names_has(const struct env_names *n, const char *name)
{
	if (env_names_has_exact(n, name))
		return true;
	if (environment_is_injection(name))
		return false;
	for (size_t i = 0; i < n->n_patterns; i++)
		if (strncmp(name, n->patterns[i], strlen(n->patterns[i]) - 1) == 0)
			return true;
	return false;
}
