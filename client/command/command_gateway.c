/* isoctl gateway: the gateway of the sessions as a plain forward proxy, for tools outside a sandbox. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"
#include "client/command.h"
#include "client/policy/policy_texts.h"
#include "client/report.h"
#include "isod_config.h"

#define PROGRAM "isod-gateway"
#define DEFAULT_PORT "8899"
#define ADMINISTRATOR_POLICY "/etc/isod/policy.json"

struct gateway_options {
	const char *port;
	struct option_list policy;
	struct option_list allow_domain;
};

static const struct option options[] = {
	{ "port", 0, "N", "listen on port N of 127.0.0.1 and ::1 (" DEFAULT_PORT ")", OPTION_STRING,
	  offsetof(struct gateway_options, port) },
	{ "policy", 'p', "FILE", "hosts of this policy file, too", OPTION_LIST,
	  offsetof(struct gateway_options, policy) },
	{ "allow-domain", 0, "HOST", "let it reach HOST, HOST:PORT or *.DOMAIN", OPTION_LIST,
	  offsetof(struct gateway_options, allow_domain) },
	OPTION_END,
};

/* Where isoctl runs from the folder that it was built in, its neighbour; else the installed one. */
static void find_program(char *ret, size_t size)
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;

	if (n > 0) {
		own[n] = '\0';
		slash = strrchr(own, '/');
		snprintf(ret, size, "%.*s/" PROGRAM, slash ? (int)(slash - own) : 0, own);
		if (access(ret, X_OK) == 0)
			return;
	}
	snprintf(ret, size, "%s/" PROGRAM, ISOD_LIBEXECDIR);
}

static char *join(const char *kind, const char *value)
{
	char *text = NULL;

	return asprintf(&text, "%s=%s", kind, value) < 0 ? NULL : text;
}

/* All arguments of the program; what is missing for want of memory shows in *ret_complete. */
static char **make_arguments(const struct gateway_options *o, const char *port, bool *ret_complete)
{
	char **argv = calloc(5 + o->policy.count + o->allow_domain.count, sizeof(*argv));
	_cleanup_free_ char *user = policy_texts_user_path(policy_texts_home(), getenv("XDG_CONFIG_HOME"));
	size_t n = 0;

	*ret_complete = argv && user;
	if (!argv || !user)
		return argv;
	argv[n++] = strdup(PROGRAM);
	argv[n++] = strdup(port);
	argv[n++] = join("administrator", ADMINISTRATOR_POLICY);
	argv[n++] = join("user", user);
	for (size_t i = 0; i < o->policy.count; i++)
		argv[n++] = join("file", o->policy.items[i]);
	for (size_t i = 0; i < o->allow_domain.count; i++)
		argv[n++] = join("allow", o->allow_domain.items[i]);
	for (size_t i = 0; i < n; i++)
		*ret_complete = *ret_complete && argv[i];
	return argv;
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct gateway_options *o = filled;
	const char *port = o->port ? o->port : DEFAULT_PORT;
	char program[8192];
	struct error e = ERROR_INIT;
	bool complete = false;
	uint64_t number;
	char **argv;

	if (number_parse_u64(port, 65535, &number) < 0) {
		error_set(&e, ERROR_INVALID, EINVAL, "options", "", "--port: \"%s\" is no port.", port);
		report_error(&e);
		return EXIT_USAGE;
	}
	find_program(program, sizeof(program));
	argv = make_arguments(o, port, &complete);
	if (complete)
		execv(program, argv);
	else
		errno = ENOMEM;
	error_set(&e, ERROR_INTERNAL, errno, program, "Is all of isod installed?", "It cannot be started: %s.",
		  strerror(errno));
	for (size_t i = 0; argv && argv[i]; i++)
		free(argv[i]);
	free(argv);
	report_error(&e);
	return 1;
}

const struct command command_gateway = {
	.name = "gateway",
	.operands = "",
	.summary = "Serve tools outside a sandbox as a proxy that lets through what the policy allows",
	.options = options,
	.options_size = sizeof(struct gateway_options),
	.usage_exit = EXIT_USAGE,
	.details = "It stays in the foreground. Allowed are the hosts of the administrator's and the user's policy, of "
		   "FILE,\n"
		   "of --allow-domain and of EGRESS_ALLOW_EXTRA (hosts with commas or blanks between), and localhost "
		   "on ports\n"
		   "80 and 443. Where the administrator names an upstream proxy, it goes through that; root must start "
		   "it if\n"
		   "that proxy wants a password. Each connection is one line of JSON on stderr. Tools find it by these "
		   "variables:\n"
		   "  HTTPS_PROXY=http://127.0.0.1:" DEFAULT_PORT " HTTP_PROXY=http://127.0.0.1:" DEFAULT_PORT
		   " NO_PROXY=localhost,127.0.0.1\n",
	.run = run,
};
