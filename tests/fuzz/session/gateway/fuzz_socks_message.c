/* What a client sends first on the proxy port where it takes it for a SOCKS server: greeting, then request. */
#include <stdlib.h>
#include <string.h>

#include "daemon/session/gateway/socks_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *data, size_t size, ssize_t n, const struct socks_request *q)
{
	struct socks_request again;

	if (n > (ssize_t)size)
		abort();
	if (n <= 0)
		return;
	if (q->family == 0 && (q->name_len == 0 || (const uint8_t *)q->name < data ||
			       (const uint8_t *)q->name + q->name_len + 2 != data + n))
		abort();
	/* What follows changes nothing, and one byte less is never enough. */
	if (socks_message_request(data, (size_t)n, &again) != n ||
	    socks_message_request(data, (size_t)n - 1, &again) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct socks_request q;
	bool plain;
	ssize_t n = socks_message_greeting(data, size, &plain);

	if (n > (ssize_t)size)
		abort();
	check(data, size, socks_message_request(data, size, &q), &q);
	if (n > 0)
		check(data + n, size - (size_t)n, socks_message_request(data + n, size - (size_t)n, &q), &q);
	return 0;
}
