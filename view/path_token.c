#include "view/path_token.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "view/path_pem.h"

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* text: lower case. */
static bool holds(const char *at, const char *end, const char *text)
{
	size_t n = strlen(text);

	for (; (size_t)(end - at) >= n; at++) {
		size_t i = 0;

		while (i < n && lower(at[i]) == text[i])
			i++;
		if (i == n)
			return true;
	}
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **at, const char **end)
{
	while (*at < *end && is_blank(**at))
		(*at)++;
	while (*at < *end && is_blank((*end)[-1]))
		(*end)--;
}

/* In the name of a setting. */
static const char *const secret_names[] = { "_auth",   "authtoken", "authident",  "password",    "passwd",
					    "secret",  "token",     "apikey",     "api_key",     "api-key",
					    "api.key", "accesskey", "access_key", "private_key", "privatekey" };

static bool is_secret_name(const char *at, const char *end)
{
	for (size_t i = 0; i < ARRAY_SIZE(secret_names); i++)
		if (holds(at, end, secret_names[i]))
			return true;
	return false;
}

/* What stands for a value, or is none. */
static bool is_written_out(const char *at, const char *end)
{
	static const char *const none[] = { "null", "true", "false", "none" };

	while (end > at && strchr(",;", end[-1]))
		end--;
	trim(&at, &end);
	if (end - at >= 2 && (*at == '"' || *at == '\'') && end[-1] == *at) {
		at++;
		end--;
	}
	if (at == end || strchr("$<{[|>#", *at))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if ((size_t)(end - at) == strlen(none[i]) && memcmp(at, none[i], strlen(none[i])) == 0)
			return false;
	return !(end - at > 4 && memcmp(at, "var.", 4) == 0);
}

/* "scheme://user:password@host", where the password is no variable. */
static bool holds_url_password(const char *at, const char *end)
{
	for (; end - at > 3; at++) {
		const char *colon = NULL, *p = at + 3;

		if (memcmp(at, "://", 3) != 0)
			continue;
		for (; p < end && !strchr("/ \t\"'", *p) && *p != '@'; p++)
			if (*p == ':' && !colon)
				colon = p + 1;
		if (p < end && *p == '@' && colon && colon < p && *colon != '$')
			return true;
	}
	return false;
}

/* "name = value", "name: value"; where there is "=", ":" is part of the name (npm's "//host/:_authToken"). */
static bool is_secret_line(const char *at, const char *end)
{
	const char *is = memchr(at, '=', (size_t)(end - at));

	trim(&at, &end);
	if (at == end || *at == '#' || *at == ';')
		return false;
	if (holds_url_password(at, end))
		return true;
	if (!is)
		is = memchr(at, ':', (size_t)(end - at));
	return is && is_secret_name(at, is) && is_written_out(is + 1, end);
}

/* DER: a sequence with a length of two or three bytes and a small version, as private keys begin; certificates begin
 * with a sequence in the sequence. */
static bool is_der_key(const unsigned char *b, size_t len)
{
	size_t at = len > 2 && b[0] == 0x30 ? (b[1] == 0x82 ? 4 : b[1] == 0x81 ? 3 : 2) : len;

	return at + 3 <= len && b[at] == 0x02 && b[at + 1] == 0x01 && b[at + 2] <= 1;
}

/* One word of base64 or hex digits, as keys of WireGuard, Rails and many others are kept. */
static bool is_key_word(const char *at, const char *end)
{
	while (end > at && strchr("\r\n \t", end[-1]))
		end--;
	if (end - at < 32 || end - at > 512)
		return false;
	for (; at < end; at++)
		if (!(*at >= '0' && *at <= '9') && !(lower(*at) >= 'a' && lower(*at) <= 'z') && !strchr("+/=-_", *at))
			return false;
	return true;
}

static bool is_pem(const char *path)
{
	size_t len = strlen(path);

	return len >= 4 && strcmp(path + len - 4, ".pem") == 0;
}

bool path_token_found(const char *path, const char *head, size_t len, bool whole)
{
	const char *end = head + len;

	if (is_pem(path))
		return !whole || !path_pem_is_public(head, len);

	/* A zip file (a Keynote presentation is also called .key) is not text and no key. */
	if (len >= 4 && memcmp(head, "PK\3\4", 4) == 0)
		return false;
	if (!whole || is_der_key((const unsigned char *)head, len) || holds(head, end, "private key") ||
	    holds(head, end, "static key v1") || is_key_word(head, end))
		return true;
	for (const char *at = head; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));

		if (is_secret_line(at, newline ? newline : end))
			return true;
		at = newline ? newline + 1 : end;
	}
	return false;
}
