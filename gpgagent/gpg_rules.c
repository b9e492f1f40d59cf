#include "gpgagent/gpg_rules.h"

#include <errno.h>
#include <string.h>

bool gpg_grip_canonical(const char *text, size_t len, char ret[GPG_GRIP_LEN + 1])
{
	if (len != GPG_GRIP_LEN)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (c >= 'a' && c <= 'f')
			c = (char)(c - 'a' + 'A');
		if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F')))
			return false;
		ret[i] = c;
	}
	ret[len] = '\0';
	return true;
}

int gpg_rules_decode(const void *data, size_t len, struct gpg_rules *ret)
{
	const char *grips = data;
	char canonical[GPG_GRIP_LEN + 1];

	*ret = (struct gpg_rules){ NULL, 0 };
	if (len == 0 || len % GPG_GRIP_LEN != 0 || len / GPG_GRIP_LEN > LIMIT_GPG_KEYS)
		return -EBADMSG;
	for (size_t i = 0; i < len; i += GPG_GRIP_LEN)
		if (!gpg_grip_canonical(grips + i, GPG_GRIP_LEN, canonical) ||
		    memcmp(canonical, grips + i, GPG_GRIP_LEN) != 0)
			return -EBADMSG;
	*ret = (struct gpg_rules){ grips, len / GPG_GRIP_LEN };
	return 0;
}

bool gpg_rules_name(const struct gpg_rules *rules, const char *text)
{
	for (size_t i = 0; i < rules->n; i++)
		if (memcmp(rules->grips + i * GPG_GRIP_LEN, text, GPG_GRIP_LEN) == 0)
			return true;
	return false;
}
