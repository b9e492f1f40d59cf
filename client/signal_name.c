#include "client/signal_name.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

int signal_name_parse(const char *text)
{
	uint64_t number;

	if (number_parse_u64(text, (uint64_t)SIGRTMAX, &number) == 0)
		return number > 0 ? (int)number : -EINVAL;
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (int i = 1; i < SIGRTMIN; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, text) == 0)
			return i;
	}
	return -EINVAL;
}
