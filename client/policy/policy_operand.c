#include "client/policy/policy_operand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "json/printable.h"
#include "policy/address.h"

static const struct {
	const char *scheme;
	uint16_t port;
} schemes[] = {
	{ "https", 443 },     { "http", 80 },         { "wss", 443 },       { "ws", 80 },      { "ssh", 22 },
	{ "git+ssh", 22 },    { "git", 9418 },        { "git+https", 443 }, { "sftp", 22 },    { "ftp", 21 },
	{ "postgres", 5432 }, { "postgresql", 5432 }, { "mysql", 3306 },    { "redis", 6379 }, { "rediss", 6379 },
	{ "ldap", 389 },      { "ldaps", 636 },       { "amqp", 5672 },     { "amqps", 5671 }, { "mongodb", 27017 },
};

static int refuse(const char *typed, const char *what, const char *remedy, struct error *e)
{
	return error_set(e, ERROR_INVALID, EINVAL, "operand", remedy, "\"%s\" %s.", json_printable(typed).text, what);
}

/* A host without its port. 0 or -EINVAL. */
static int read_host(const char *text, size_t len, struct policy_operand *ret)
{
	char copy[HOSTNAME_MAX * 4 + 1], shown[64];
	int family = address_parse(text, len, ret->address);

	if (family > 0) {
		ret->is_literal = true;
		ret->family = (uint8_t)family;
		snprintf(ret->host, sizeof(ret->host), "%s", address_format(family, ret->address, shown));
		return 0;
	}
	if (len >= sizeof(copy))
		return -EINVAL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return hostname_canonical_idn(copy, ret->host);
}

/* host, host:port, [v6], [v6]:port. */
static int read_authority(const char *text, size_t len, struct policy_operand *ret)
{
	const char *host;
	size_t host_len;
	bool v6;

	if (hostname_split_port(text, len, &host, &host_len, &v6, &ret->port) < 0 || read_host(host, host_len, ret) < 0)
		return -EINVAL;
	ret->is_host = true;
	return 0;
}

static int read_url(const char *typed, const char *separator, struct policy_operand *ret, struct error *e)
{
	const char *at = separator + 3, *user;
	size_t scheme_len = (size_t)(separator - typed), len = strcspn(at, "/?#");

	user = memrchr(at, '@', len);
	if (user) {
		len -= (size_t)(user + 1 - at);
		at = user + 1;
	}
	if (read_authority(at, len, ret) < 0)
		return refuse(typed, "is a URL without a valid host", NULL, e);
	for (size_t i = 0; ret->port == 0 && i < ARRAY_SIZE(schemes); i++)
		if (strlen(schemes[i].scheme) == scheme_len && strncasecmp(typed, schemes[i].scheme, scheme_len) == 0)
			ret->port = schemes[i].port;
	return ret->port ? 0 : refuse(typed, "is a URL of a kind whose port is not known", "Write host:port.", e);
}

/* user@host:path, of ssh and git. False where it is none. */
static bool read_scp(const char *typed, struct policy_operand *ret)
{
	const char *at = strchr(typed, '@'), *slash = strchr(typed, '/');
	size_t len;

	if (!at || at == typed || (slash && slash < at))
		return false;
	len = strcspn(at + 1, ":");
	if (at[1] == '[' || at[1 + len] != ':' || read_host(at + 1, len, ret) < 0)
		return false;
	ret->is_host = true;
	ret->port = 22;
	return true;
}

static bool is_network(const char *typed)
{
	const char *slash = strchr(typed, '/');
	uint8_t address[16];

	return slash && address_parse(typed, (size_t)(slash - typed), address) > 0;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Neither a URL nor the beginning of a path: a word. */
static int read_word(const char *typed, struct policy_operand *ret, struct error *e)
{
	size_t len = strlen(typed);

	if (read_scp(typed, ret))
		return 0;
	*ret = (struct policy_operand){ .is_host = false };
	if (read_host(typed, len, ret) == 0 && ret->is_literal) {
		ret->is_host = true;
		return 0;
	}
	*ret = (struct policy_operand){ .is_host = false };
	if (strchr(typed, '/'))
		return 0;
	if (read_authority(typed, len, ret) < 0 || (ret->port == 0 && !ret->is_literal && !strchr(ret->host, '.'))) {
		*ret = (struct policy_operand){ .is_host = false };
		return typed[0] == '[' ? refuse(typed, "is no IPv6 address in brackets", NULL, e) : 0;
	}
	if (!exists(typed))
		return 0;
	*ret = (struct policy_operand){ .is_host = false, .may_be_host = true };
	return 0;
}

int policy_operand_read(const char *typed, struct policy_operand *ret, struct error *e)
{
	const char *separator = strstr(typed, "://");

	*ret = (struct policy_operand){ .is_host = false };
	if (typed[0] == '\0')
		return refuse(typed, "names nothing", "Write a path, a host or a URL.", e);
	if (strchr("/.~", typed[0]))
		return 0;
	if (separator && separator > typed && (size_t)(separator - typed) == strcspn(typed, "/?#:"))
		return read_url(typed, separator, ret, e);
	if (is_network(typed))
		return refuse(typed, "is a network", "Write one address of it.", e);
	if (strncmp(typed, "*.", 2) == 0)
		return refuse(typed, "names many hosts or files", "Write one of them.", e);
	return read_word(typed, ret, e);
}
