#include <errno.h>
#include <idn2.h>
#include <string.h>

#include "policy/hostname.h"

/* U-labels to convert, or A-labels to check: libidn2 refuses those that do not come back from their U-label. */
static bool needs_idn(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p >= 0x80)
			return true;
	return strcasestr(text, "xn--") != NULL;
}

int hostname_canonical_idn(const char *text, char ret[HOSTNAME_MAX + 1])
{
	uint8_t *ascii = NULL;
	int r;

	if (!needs_idn(text))
		return hostname_canonical(text, strlen(text), ret);
	/* Longer text cannot be a name, and libidn2 takes quadratic time. */
	if (strlen(text) > (size_t)HOSTNAME_MAX * 4)
		return -EINVAL;
	r = idn2_lookup_u8((const uint8_t *)text, &ascii, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (r == IDN2_MALLOC)
		return -ENOMEM;
	if (r != IDN2_OK)
		return -EINVAL;
	r = hostname_canonical((const char *)ascii, strlen((const char *)ascii), ret);
	idn2_free(ascii);
	return r;
}
