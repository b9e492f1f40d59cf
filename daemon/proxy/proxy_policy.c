#include "daemon/proxy/proxy_policy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/proxy/proxy_extra.h"
#include "daemon/session/gateway/proxy_tls.h"
#include "daemon/wire/proxy_ca.h"
#include "json/write.h"

struct texts {
	struct policy_input inputs[LIMIT_POLICY_LAYERS];
	size_t n;
	char *owned[LIMIT_POLICY_LAYERS];
	size_t n_owned;
};

static void texts_done(struct texts *t)
{
	while (t->n_owned > 0)
		free(t->owned[--t->n_owned]);
}

static int add(struct texts *t, enum policy_layer_kind layer, const char *path, char *text, size_t len, struct error *e)
{
	if (t->n == LIMIT_POLICY_LAYERS) {
		free(text);
		return error_set(e, ERROR_LIMIT, E2BIG, "policy", NULL, "There are more than %u policies.",
				 LIMIT_POLICY_LAYERS);
	}
	t->owned[t->n_owned++] = text;
	/* Whoever writes it: nothing is lent here. */
	t->inputs[t->n++] =
		(struct policy_input){ .layer = layer, .path = path, .text = text, .len = len, .trusted = true };
	return 0;
}

static int add_file(struct texts *t, enum policy_layer_kind layer, const char *path, struct error *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char *text = NULL;
	size_t len = 0;
	int r;

	if (fd < 0 && errno == ENOENT && layer != POLICY_FILE)
		return 0;
	r = fd < 0 ? -errno : fd_read_file(fd, LIMIT_POLICY_FILE, &text, &len);
	if (r < 0)
		return error_set(e, ERROR_POLICY, -r, path, NULL, "The policy cannot be read: %s.", strerror(-r));
	return add(t, layer, path, text, len, e);
}

static int add_extra(struct texts *t, const char *path, const char *list, struct error *e)
{
	struct buffer text = BUFFER_INIT(LIMIT_POLICY_FILE);
	int r = proxy_extra_policy(list, &text);

	if (r < 0) {
		buffer_done(&text);
		return error_set(e, ERROR_POLICY, -r, path, NULL, "The list of hosts cannot be taken: %s.",
				 strerror(-r));
	}
	return add(t, POLICY_COMMAND_LINE, path, text.data, text.len, e);
}

static int add_argument(struct texts *t, char *argument, struct error *e)
{
	static const struct {
		const char *prefix;
		enum policy_layer_kind layer;
	} kinds[] = {
		{ "administrator=", POLICY_ADMINISTRATOR },
		{ "user=", POLICY_USER },
		{ "file=", POLICY_FILE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strncmp(argument, kinds[i].prefix, strlen(kinds[i].prefix)) == 0)
			return add_file(t, kinds[i].layer, argument + strlen(kinds[i].prefix), e);
	if (strncmp(argument, "allow=", 6) == 0)
		return add_extra(t, "--allow-domain", argument + 6, e);
	return error_set(e, ERROR_INVALID, EINVAL, "arguments", NULL, "isod-gateway is started by isoctl gateway.");
}

/* Behind all rules, so that the numbers of the others stay those of the policy's lists. */
static int append_loopback(struct egress_rules *rules)
{
	static const struct egress_rule own[] = {
		{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 32, .address = { 127, 0, 0, 1 } },
		{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 128, .address = { [15] = 1 } },
		{ .kind = EGRESS_RULE_HOST },
	};
	const size_t n = ARRAY_SIZE(own);
	struct egress_rule *all = reallocarray(rules->rules, rules->n_rules + n, sizeof(*all));
	struct egress_pin *pins = reallocarray(rules->pins, rules->n_pins + (size_t)1, sizeof(*pins));
	char *name = strdup("localhost"), *pinned = strdup("localhost");

	if (all)
		rules->rules = all;
	if (pins)
		rules->pins = pins;
	if (!all || !pins || !name || !pinned) {
		free(name);
		free(pinned);
		return -ENOMEM;
	}
	memcpy(&all[rules->n_rules], own, sizeof(own));
	rules->n_rules += n;
	all[rules->n_rules - 1].name = name;
	pins[rules->n_pins++] = (struct egress_pin){
		.name = pinned,
		.n_addresses = 2,
		.addresses = { { AF_INET, { 127, 0, 0, 1 } }, { AF_INET6, { [15] = 1 } } },
	};
	rules->has_localhost = true;
	free(rules->by_name);
	rules->by_name = NULL;
	return egress_rules_prepare(rules);
}

int proxy_policy_load(char **arguments, int n_arguments, const char *extra, struct policy *ret, struct error *e)
{
	__attribute__((cleanup(texts_done))) struct texts texts = { .n = 0 };
	int r = 0;

	*ret = (struct policy){ .arena = NULL };
	for (int i = 0; r == 0 && i < n_arguments; i++)
		r = add_argument(&texts, arguments[i], e);
	if (r == 0 && extra)
		r = add_extra(&texts, "EGRESS_ALLOW_EXTRA", extra, e);
	if (r == 0)
		r = policy_load(texts.inputs, texts.n, ret, e);
	/* Nobody would see that it is open. */
	ret->egress.unlisted = EGRESS_UNLISTED_DENY;
	if (r == 0)
		r = append_loopback(&ret->egress);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "policy", NULL, "There is no memory for the policy.") : 0;
}

/* Of the administrator's policy; files that it names lie there. */
static int open_folder(char **arguments, int n_arguments, int *ret, struct error *e)
{
	static const char prefix[] = "administrator=";
	char folder[LIMIT_PATH] = ".";
	const char *slash;

	for (int i = 0; i < n_arguments; i++) {
		const char *path = arguments[i] + strlen(prefix);

		if (strncmp(arguments[i], prefix, strlen(prefix)) == 0 && (slash = strrchr(path, '/')))
			snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path);
	}
	*ret = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (*ret < 0)
		return error_set(e, ERROR_POLICY, errno, folder, NULL, "The folder of the policy cannot be opened: %s.",
				 strerror(errno));
	return 0;
}

int proxy_policy_auth(char **arguments, int n_arguments, const struct policy *policy, char ret[PROXY_AUTH_VALUE_MAX],
		      struct error *e)
{
	char line[LIMIT_PROXY_AUTH + 1];
	_cleanup_close_ int fd = -1;
	int r;

	ret[0] = '\0';
	if (!policy->proxy.auth_file)
		return 0;
	if (geteuid() != 0)
		return error_set(e, ERROR_REFUSED, EPERM, "upstreamProxy", "Start it as root.",
				 "The upstream proxy needs a password that only root may read.");
	r = open_folder(arguments, n_arguments, &fd, e);
	if (r < 0)
		return r;
	r = proxy_auth_read(fd, policy->proxy.auth_file, line, e);
	if (r == 0)
		r = proxy_auth_value(line, strlen(line), ret);
	explicit_bzero(line, sizeof(line));
	return r;
}

int proxy_policy_tls(char **arguments, int n_arguments, const struct policy *policy, struct proxy_tls **ret,
		     struct error *e)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *ca = NULL;
	size_t len = 0;
	int r = 0;

	*ret = NULL;
	if (!policy->proxy.tls)
		return 0;
	if (policy->proxy.ca_file) {
		r = open_folder(arguments, n_arguments, &fd, e);
		if (r == 0)
			r = proxy_ca_read(fd, policy->proxy.ca_file, &ca, &len, e);
		if (r < 0)
			return r;
	}
	r = proxy_tls_service->open(&policy->proxy.way, ca, len, ret);
	return r < 0 ? error_set(e, ERROR_POLICY, -r, "upstreamProxy", "Write certificates in PEM into caFile.",
				 "TLS to the upstream proxy cannot be prepared: %s.", strerror(-r))
		     : 0;
}
