#include "sshagent/ssh_public_key.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

static const char *const known[] = {
	"ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa",
};

static int digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : (c == '/' ? 63 : -1);
}

ssize_t ssh_base64_decode(const char *text, size_t len, uint8_t *ret, size_t size)
{
	size_t n = 0, padding = 0;

	if (len == 0 || len % 4 != 0)
		return -EBADMSG;
	while (padding < 2 && text[len - 1 - padding] == '=')
		padding++;
	if (len / 4 * 3 - padding > size)
		return -ENOBUFS;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t group = 0;
		size_t bytes = i + 4 == len ? 3 - padding : 3;

		for (size_t k = 0; k < 4; k++) {
			int digit = k <= bytes ? digit_of(text[i + k]) : 0;

			if (digit < 0)
				return -EBADMSG;
			group = group << 6 | (uint32_t)digit;
		}
		for (size_t k = 0; k < bytes; k++)
			ret[n++] = (uint8_t)(group >> (16 - 8 * k));
	}
	return (ssize_t)n;
}

static size_t word_length(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[n] != ' ' && text[n] != '\t')
		n++;
	return n;
}

int ssh_public_key_parse(const char *text, size_t len, uint8_t *ret, size_t size, size_t *ret_len)
{
	size_t type_len = word_length(text, len), at = type_len;
	struct ssh_span type = { (const uint8_t *)text, type_len }, inner;
	struct ssh_reader r;
	ssize_t n;

	while (at < len && (text[at] == ' ' || text[at] == '\t'))
		at++;
	n = ssh_base64_decode(text + at, word_length(text + at, len - at), ret, size);
	if (n < 0)
		return (int)n;
	r = (struct ssh_reader){ ret, ret + n };
	if (!ssh_read_string(&r, &inner) || !ssh_span_equals(type, inner))
		return -EBADMSG;
	*ret_len = (size_t)n;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (ssh_span_is(type, known[i]))
			return 0;
	return -EOPNOTSUPP;
}
