/* What an upstream proxy answers to CONNECT. */
#include <stdlib.h>

#include "daemon/session/gateway/proxy_reply.h"
#include "policy/egress.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint16_t status, again;
	ssize_t n = proxy_reply_parse((const char *)data, size, &status);

	if (n > (ssize_t)size || n > (ssize_t)PROXY_REPLY_MAX)
		abort();
	if (n <= 0)
		return 0;
	if (status < 200 || status > 599 || proxy_reply_reason(status) >= EGRESS_REASON_COUNT)
		abort();
	/* What follows changes nothing, and one byte less is never enough. */
	if (proxy_reply_parse((const char *)data, (size_t)n, &again) != n || again != status ||
	    proxy_reply_parse((const char *)data, (size_t)n - 1, &again) > 0)
		abort();
	return 0;
}
