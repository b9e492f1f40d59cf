#include "gpgagent/gpg_answer.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static bool begins(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && memcmp(line, word, n) == 0 && (len == n || line[n] == ' ');
}

/* 0 where there is none: no error has that number. */
static unsigned number_at(const char *text, size_t len)
{
	unsigned long value = 0;

	for (size_t i = 0; i < len && i < 10 && text[i] >= '0' && text[i] <= '9'; i++)
		value = value * 10 + (unsigned long)(text[i] - '0');
	return value > INT_MAX ? 0 : (unsigned)value;
}

void gpg_answer_parse(const char *line, size_t len, struct gpg_answer *ret)
{
	*ret = (struct gpg_answer){ .kind = GPG_ANSWER_BAD };
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (len == 0 || line[0] == '#' || begins(line, len, "S")) {
		ret->kind = GPG_ANSWER_NOTHING;
	} else if (begins(line, len, "OK")) {
		ret->kind = GPG_ANSWER_OK;
	} else if (begins(line, len, "INQUIRE")) {
		ret->kind = GPG_ANSWER_INQUIRE;
	} else if (begins(line, len, "ERR") && len > 4) {
		ret->error = number_at(line + 4, len - 4);
		ret->kind = ret->error > 0 ? GPG_ANSWER_ERROR : GPG_ANSWER_BAD;
	} else if (begins(line, len, "D") && len > 2) {
		ret->kind = GPG_ANSWER_DATA;
		ret->data = line + 2;
		ret->len = len - 2;
	}
}
