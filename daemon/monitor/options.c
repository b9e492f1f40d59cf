#include "daemon/monitor/options.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "isod_config.h"

const char options_usage[] =
	"Usage: isod [--socket PATH] [--run-dir DIR] [--state-dir DIR] [--config-dir DIR] [--libexec DIR]\n"
	"            [--user NAME] [--net-user NAME] [--ready-fd N] [--foreground] [--version]\n";

enum kind { TEXT, DESCRIPTOR, FLAG, NOTHING };

static const struct {
	const char *name;
	enum kind kind;
	size_t offset;
} table[] = {
	{ "--socket", TEXT, offsetof(struct options, socket) },
	{ "--run-dir", TEXT, offsetof(struct options, run_dir) },
	{ "--state-dir", TEXT, offsetof(struct options, state_dir) },
	{ "--config-dir", TEXT, offsetof(struct options, config_dir) },
	{ "--libexec", TEXT, offsetof(struct options, libexec) },
	{ "--user", TEXT, offsetof(struct options, user) },
	{ "--net-user", TEXT, offsetof(struct options, net_user) },
	{ "--ready-fd", DESCRIPTOR, offsetof(struct options, ready_fd) },
	{ "--version", FLAG, offsetof(struct options, version) },
	{ "--help", FLAG, offsetof(struct options, help) },
	{ "--foreground", NOTHING, 0 }, /* the only way there is */
};

static int set(struct options *o, size_t i, const char *value)
{
	void *field = (char *)o + table[i].offset;
	uint64_t number;

	switch (table[i].kind) {
	case TEXT:
		*(const char **)field = value;
		return value[0] ? 0 : -EINVAL;
	case DESCRIPTOR:
		if (number_parse_u64(value, INT_MAX, &number) < 0)
			return -EINVAL;
		*(int *)field = (int)number;
		return 0;
	case FLAG:
		*(bool *)field = true;
		return 0;
	case NOTHING:
		return 0;
	}
	return -EINVAL;
}

int options_parse(int argc, char *const argv[], struct options *ret, char *complaint, unsigned size)
{
	struct options o = {
		.run_dir = "/run/isod",
		.state_dir = "/var/lib/isod",
		.config_dir = "/etc/isod",
		.libexec = ISOD_LIBEXECDIR,
		.user = "isod",
		.net_user = "isod-net",
		.ready_fd = -1,
	};

	for (int at = 1; at < argc; at++) {
		const char *equals = strchr(argv[at], '=');
		size_t len = equals ? (size_t)(equals - argv[at]) : strlen(argv[at]);
		const char *value = equals ? equals + 1 : NULL;
		size_t i = 0;

		while (i < ARRAY_SIZE(table) &&
		       (strlen(table[i].name) != len || memcmp(table[i].name, argv[at], len) != 0))
			i++;
		if (i == ARRAY_SIZE(table)) {
			snprintf(complaint, size, "%s is not an option of isod.", argv[at]);
			return -EINVAL;
		}
		if (table[i].kind >= FLAG && value) {
			snprintf(complaint, size, "%s takes no value.", table[i].name);
			return -EINVAL;
		}
		if (table[i].kind < FLAG && !value)
			value = ++at < argc ? argv[at] : NULL;
		if ((table[i].kind < FLAG && !value) || set(&o, i, value) < 0) {
			snprintf(complaint, size, "%s wants a value.", table[i].name);
			return -EINVAL;
		}
	}
	*ret = o;
	return 0;
}
