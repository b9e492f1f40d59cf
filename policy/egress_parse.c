/* One entry of allowedDomains or deniedDomains. Whatever is not meant is refused with the form that would be right. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "json/printable.h"
#include "policy/address.h"
#include "policy/egress.h"
#include "policy/hostname.h"

#define FORMS                                                                                                          \
	"Write host, host:port, *.domain, *.domain:port, an address, [IPv6]:port or a network such as 10.1.0.0/16."

/* "TEXT" WHAT., as an error of the policy; returns -EINVAL. */
static int refuse(struct error *e, const char *text, const char *remedy, const char *what)
{
	return error_set(e, ERROR_POLICY, EINVAL, "", remedy, "\"%s\" %s.", json_printable(text).text, what);
}

/* A slice of the entry as a string; longer ones cannot be right. */
struct part {
	char text[HOSTNAME_MAX * 4 + 1];
};

static int part_copy(struct part *ret, const char *text, size_t len)
{
	if (len >= sizeof(ret->text))
		return -EINVAL;
	memcpy(ret->text, text, len);
	ret->text[len] = '\0';
	return 0;
}

/* "https://user@host:8443/path" -> "host:8443", for the remedy only. */
static struct part host_of_url(const char *text)
{
	struct part ret = { .text = "" };
	const char *start = strstr(text, "://"), *at;
	size_t len;

	start = start ? start + 3 : text;
	len = strcspn(start, "/?#\\");
	at = memrchr(start, '@', len);
	if (at) {
		len -= (size_t)(at + 1 - start);
		start = at + 1;
	}
	if (part_copy(&ret, start, len) < 0 || len == 0)
		snprintf(ret.text, sizeof(ret.text), "example.com");
	return ret;
}

static int refuse_url(const char *text, const char *what, struct error *e)
{
	struct part host = host_of_url(text);
	char remedy[ERROR_REMEDY_MAX];

	snprintf(remedy, sizeof(remedy), "Write only the host: \"%s\".", json_printable(host.text).text);
	return refuse(e, text, remedy, what);
}

static int parse_port(const char *text, const char *whole, uint16_t *ret, struct error *e)
{
	if (hostname_parse_port(text, strlen(text), ret) == 0)
		return 0;
	return refuse(e, whole, "Write host:port with a number of 1 to 65535, without sign or leading zero.",
		      "has a port that is no port number");
}

static int parse_bits(const char *text, size_t len, int family, uint8_t *ret)
{
	unsigned value = 0;

	if (len == 0 || len > 3 || (len > 1 && text[0] == '0'))
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	if (value > (family == AF_INET ? 32U : 128U))
		return -EINVAL;
	*ret = (uint8_t)value;
	return 0;
}

/* network: "ADDRESS" or "ADDRESS/BITS". */
static int parse_network(const char *network, size_t len, const char *whole, struct egress_rule *ret, struct error *e)
{
	const char *slash = memchr(network, '/', len);
	size_t n = slash ? (size_t)(slash - network) : len;
	uint8_t masked[16];
	char right[64], remedy[ERROR_REMEDY_MAX];
	int family = address_parse(network, n, ret->address);

	if (family < 0)
		return refuse(e, whole, FORMS, "is not an address in its usual form");
	ret->kind = EGRESS_RULE_ADDRESS;
	ret->family = (uint8_t)family;
	ret->bits = family == AF_INET ? 32 : 128;
	if (slash && parse_bits(slash + 1, len - n - 1, family, &ret->bits) < 0)
		return refuse(e, whole, FORMS, "has a prefix length that is none");
	address_mask(family, ret->address, ret->bits, masked);
	if (memcmp(masked, ret->address, sizeof(masked)) != 0) {
		snprintf(remedy, sizeof(remedy), "Write the network \"%s/%u\", or the address alone.",
			 address_format(family, masked, right), ret->bits);
		return refuse(e, whole, remedy, "has bits set after the prefix");
	}
	if (address_prefix_is_embedded(family, ret->address, ret->bits))
		return refuse(e, whole, "Write the IPv4 address.", "is an IPv4 address inside an IPv6 one");
	return 0;
}

static int parse_bracketed(const char *text, struct egress_rule *ret, struct error *e)
{
	const char *end = strchr(text, ']');
	int r;

	if (!end || (end[1] != '\0' && end[1] != ':') || !memchr(text, ':', (size_t)(end - text)))
		return refuse(e, text, FORMS, "is not an IPv6 address in brackets");
	r = parse_network(text + 1, (size_t)(end - text) - 1, text, ret, e);
	return r == 0 && end[1] == ':' ? parse_port(end + 2, text, &ret->port, e) : r;
}

/* "ADDRESS/BITS" or "ADDRESS/BITS:port"; any other slash is a path. */
static int parse_slashed(const char *text, struct egress_rule *ret, struct error *e)
{
	const char *slash = strchr(text, '/'), *colon = strchr(slash, ':');
	uint8_t address[16];
	int r;

	if (address_parse(text, (size_t)(slash - text), address) < 0)
		return refuse_url(text, "has a path; rules are about hosts", e);
	r = parse_network(text, colon ? (size_t)(colon - text) : strlen(text), text, ret, e);
	return r == 0 && colon ? parse_port(colon + 1, text, &ret->port, e) : r;
}

/* host: without the port. Where a star may stand, and what it may stand for. */
static int check_star(const char *host, struct error *e)
{
	char remedy[ERROR_REMEDY_MAX];

	if (strcmp(host, "*") == 0)
		return refuse(e, host, "Name the hosts, as in \"example.com\" and \"*.example.com\".",
			      "would allow every host, and that cannot be asked for");
	if (host[0] == '*' && host[1] != '.' && !strchr(host + 1, '*')) {
		snprintf(remedy, sizeof(remedy), "Write \"*.%s\" for the hosts below it.",
			 json_printable(host + 1).text);
		return refuse(e, host, remedy, "has a star that does not stand for whole labels");
	}
	if (host[0] != '*' || strchr(host + 1, '*'))
		return refuse(e, host, "Write the star as the first label only, as in \"*.example.com\".",
			      "has a star in the wrong place");
	return 0;
}

static int parse_name(const char *host, const char *whole, struct egress_rule *ret, struct error *e)
{
	bool suffix = host[0] == '*' && host[1] == '.';
	char name[HOSTNAME_MAX + 1], remedy[ERROR_REMEDY_MAX];
	int r = hostname_canonical_idn(suffix ? host + 2 : host, name);

	if (r == -ENOMEM)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "", NULL, "There is no memory for the policy.");
	if (r < 0 && host[0] == '.') {
		snprintf(remedy, sizeof(remedy), "Write \"*%s\" for the hosts below it.", json_printable(host).text);
		return refuse(e, whole, remedy, "begins with a dot");
	}
	if (r < 0)
		return refuse(e, whole, FORMS, "is neither a host name nor an address in its usual form");
	if (hostname_is_localhost(name))
		return refuse(e, whole, "Inside the sandbox localhost is the sandbox itself.",
			      "never leaves the sandbox, so no rule can be about it");
	if (suffix && !strchr(name, '.'))
		return refuse(e, whole, "Write at least two labels after the star, as in \"*.example.com\".",
			      "would match a whole top-level domain");
	ret->kind = suffix ? EGRESS_RULE_SUFFIX : EGRESS_RULE_HOST;
	ret->name = strdup(name);
	return ret->name ? 0 : error_set(e, ERROR_INTERNAL, ENOMEM, "", NULL, "There is no memory for the policy.");
}

/* Neither brackets nor a slash: a name or an IPv4 address, with or without a port. */
static int parse_plain(const char *text, struct egress_rule *ret, struct error *e)
{
	const char *colon = strchr(text, ':');
	uint8_t address[16];
	struct part host;
	int r;

	if (colon && strchr(colon + 1, ':')) {
		return refuse(e, text, "Write an IPv6 address in brackets, as in \"[2001:4860:4860::8888]:443\".",
			      "has more than one colon");
	}
	if (part_copy(&host, text, colon ? (size_t)(colon - text) : strlen(text)) < 0 || host.text[0] == '\0')
		return refuse(e, text, FORMS, "names no host");
	if (colon) {
		r = parse_port(colon + 1, text, &ret->port, e);
		if (r < 0)
			return r;
	}
	if (strchr(host.text, '*')) {
		r = check_star(host.text, e);
		if (r < 0)
			return r;
	}
	if (address_parse(host.text, strlen(host.text), address) == AF_INET)
		return parse_network(host.text, strlen(host.text), text, ret, e);
	return parse_name(host.text, text, ret, e);
}

static bool has_blank(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p <= ' ' || *p == 0x7f)
			return true;
	return false;
}

int egress_rule_parse(const char *text, bool deny, struct egress_rule *ret, struct error *e)
{
	struct egress_rule rule = { .deny = deny };
	int r;

	if (text[0] == '\0')
		r = refuse(e, text, FORMS, "is empty and names no host");
	else if (has_blank(text))
		r = refuse(e, text, FORMS, "holds a blank or a control character");
	else if (strstr(text, "://"))
		r = refuse_url(text, "is a URL; rules are about hosts", e);
	else if (strchr(text, '@'))
		r = refuse_url(text, "has a user name; rules are about hosts", e);
	else if (text[0] == '[')
		r = parse_bracketed(text, &rule, e);
	else if (strchr(text, '/'))
		r = parse_slashed(text, &rule, e);
	else
		r = parse_plain(text, &rule, e);
	if (r < 0)
		return r;
	*ret = rule;
	return 0;
}
