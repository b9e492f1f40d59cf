#include "policy/hostname.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/number.h"
#include "policy/address.h"

#define LABEL_MAX 63

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What resolvers of the inet_aton() kind read as part of an address: 1, 0177, 0x7f, 0x. */
static bool label_is_number(const char *label, size_t len)
{
	bool hex = len >= 2 && label[0] == '0' && label[1] == 'x';

	for (size_t i = hex ? 2 : 0; i < len; i++)
		if (!is_digit(label[i]) && !(hex && label[i] >= 'a' && label[i] <= 'f'))
			return false;
	return true;
}

static int check_label(const char *label, size_t len)
{
	if (len == 0 || len > LABEL_MAX || label[0] == '-' || label[len - 1] == '-')
		return -EINVAL;
	return 0;
}

int hostname_canonical(const char *text, size_t len, char ret[HOSTNAME_MAX + 1])
{
	char name[HOSTNAME_MAX + 1];
	size_t label = 0;

	if (len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len > HOSTNAME_MAX)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c >= 'A' && c <= 'Z')
			c += 'a' - 'A';
		if (c == '.') {
			if (check_label(name + label, i - label) < 0)
				return -EINVAL;
			label = i + 1;
		} else if (!(c >= 'a' && c <= 'z') && !is_digit(c) && c != '-' && c != '_') {
			return -EINVAL;
		}
		name[i] = c;
	}
	if (check_label(name + label, len - label) < 0 || label_is_number(name + label, len - label))
		return -EINVAL;
	name[len] = '\0';
	memcpy(ret, name, len + 1);
	return 0;
}

bool hostname_is_below(const char *name, const char *domain)
{
	size_t n = strlen(name), d = strlen(domain);

	return d > 0 && n > d + 1 && name[n - d - 1] == '.' && memcmp(name + n - d, domain, d) == 0;
}

bool hostname_is_localhost(const char *name)
{
	return strcmp(name, "localhost") == 0 || hostname_is_below(name, "localhost");
}

bool hostname_is_public(const char *name)
{
	/* RFC 6761, 6762, 7686, 8375, 9476, and what routers and companies use without one. */
	static const char *const own[] = { "localhost", "local",   "internal",   "intranet", "lan",
					   "home",      "corp",    "private",    "arpa",     "onion",
					   "alt",       "invalid", "localdomain" };

	if (!strchr(name, '.'))
		return false;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (hostname_is_below(name, own[i]))
			return false;
	return true;
}

static int split_bracketed(const char *text, size_t len, size_t *ret_host_len, size_t *ret_next)
{
	const char *end = memchr(text, ']', len);
	uint8_t address[16];

	if (!end || address_parse(text + 1, end - text - 1, address) != AF_INET6)
		return -EINVAL;
	*ret_host_len = end - text - 1;
	*ret_next = end - text + 1;
	return 0;
}

/* Bytes of UTF-8 are let through: what the name may hold is for hostname_canonical*() to say. */
static int split_name(const char *text, size_t len, size_t *ret_host_len)
{
	size_t n = 0;

	while (n < len && text[n] != ':') {
		unsigned char c = text[n++];

		if (c <= ' ' || c == 0x7f || strchr("@/?#\\[]%", c))
			return -EINVAL;
	}
	if (n == 0)
		return -EINVAL;
	*ret_host_len = n;
	return 0;
}

int hostname_parse_port(const char *text, size_t len, uint16_t *ret)
{
	if (len > 0 && text[0] == '0')
		return -EINVAL;
	return number_parse_port(text, len, ret) < 0 ? -EINVAL : 0;
}

int hostname_split_port(const char *text, size_t len, const char **ret_host, size_t *ret_host_len, bool *ret_v6,
			uint16_t *ret_port)
{
	bool v6 = len > 0 && text[0] == '[';
	size_t host_len, next;
	uint16_t port = 0;
	int r;

	if (v6) {
		r = split_bracketed(text, len, &host_len, &next);
	} else {
		r = split_name(text, len, &host_len);
		next = r < 0 ? 0 : host_len;
	}
	if (r < 0)
		return r;
	if (next < len) {
		if (text[next] != ':')
			return -EINVAL;
		r = hostname_parse_port(text + next + 1, len - next - 1, &port);
		if (r < 0)
			return r;
	}
	*ret_host = v6 ? text + 1 : text;
	*ret_host_len = host_len;
	*ret_v6 = v6;
	*ret_port = port;
	return 0;
}
