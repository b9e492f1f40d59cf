#include "view/path_pem.h"

#include <string.h>

#include "base/cleanup.h"

static const char *const public_labels[] = {
	"CERTIFICATE",         "X509 CERTIFICATE",        "TRUSTED CERTIFICATE",
	"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "X509 CRL",
	"PUBLIC KEY",          "RSA PUBLIC KEY",          "EC PARAMETERS",
	"DH PARAMETERS",       "X9.42 DH PARAMETERS",
};

/* So many characters of base64 or hex digits in a row, between two blocks, may be a key. */
#define KEY_CHARS 32

static bool is_digit_of_key(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("+/=", c));
}

/* -----BEGIN LABEL-----: which one of the table; -1: none of it, or no such line. */
static int label_of(const char *at, size_t len, const char *head)
{
	size_t n = strlen(head);

	if (len < n + 5 || memcmp(at, head, n) != 0 || memcmp(at + len - 5, "-----", 5) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(public_labels); i++)
		if (strlen(public_labels[i]) == len - n - 5 && memcmp(at + n, public_labels[i], len - n - 5) == 0)
			return (int)i;
	return -1;
}

static bool is_base64(const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_digit_of_key(at[i]))
			return false;
	return len > 0;
}

/* A subject, what openssl prints of a certificate, a comment. "Private-Key: (2048 bit)" is printed of keys. */
static bool is_for_people(const char *at, size_t len)
{
	static const char word[] = "private";
	size_t digits = 0, same;

	if (len >= 5 && memcmp(at, "-----", 5) == 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)at[i] < ' ' && at[i] != '\t')
			return false;
		digits = is_digit_of_key(at[i]) ? digits + 1 : 0;
		for (same = 0; same < sizeof(word) - 1 && i + same < len && (at[i + same] | 0x20) == word[same];)
			same++;
		if (digits == KEY_CHARS || same == sizeof(word) - 1)
			return false;
	}
	return true;
}

bool path_pem_is_public(const char *text, size_t len)
{
	const char *end = text + len;
	int open = -1;
	unsigned blocks = 0, lines = 0;

	for (const char *at = text; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((newline ? newline : end) - at);

		while (n > 0 && strchr("\r \t", at[n - 1]) && at[n - 1])
			n--;
		if (open < 0) {
			open = label_of(at, n, "-----BEGIN ");
			if (open < 0 && !is_for_people(at, n))
				return false;
			lines = 0;
		} else if (is_base64(at, n)) {
			lines++;
		} else {
			if (lines == 0 || label_of(at, n, "-----END ") != open)
				return false;
			open = -1;
			blocks++;
		}
		at = newline ? newline + 1 : end;
	}
	return open < 0 && blocks > 0;
}
