/* A configuration file: it ends, its strings are whole, and an error is an error again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "git/git_config.h"
#include "git/git_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct git_config_entry *e)
{
	if (strlen(e->section) >= GIT_CONFIG_NAME_MAX || strlen(e->subsection) >= GIT_CONFIG_SUBSECTION_MAX ||
	    strlen(e->key) >= GIT_CONFIG_NAME_MAX || !e->key[0] ||
	    (e->value && strlen(e->value) >= GIT_CONFIG_VALUE_MAX))
		abort();
	if (e->value) {
		char path[64];

		(void)git_path_matches(e->subsection, e->value, e->line & 1);
		(void)git_path_join("/base", e->value, path, sizeof(path));
		(void)git_config_bool(e->value);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct git_config config;
	struct git_config_entry entry;
	const char *at;
	int r;

	git_config_begin(&config, (const char *)data, size);
	for (at = NULL; (r = git_config_next(&config, &entry)) > 0; at = config.at) {
		if (config.at == at)
			abort();
		check(&entry);
	}
	if (git_config_next(&config, &entry) != r)
		abort();
	return 0;
}
