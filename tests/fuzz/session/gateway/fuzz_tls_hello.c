/* What a client sends first on port 443. */
#include <stdlib.h>
#include <string.h>

#include "daemon/session/gateway/tls_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_hello h;
	ssize_t n = tls_hello_parse(data, size, &h);

	if (n > (ssize_t)size)
		abort();
	if (n > 0 && h.has_name && (h.name_len == 0 || h.name_len > TLS_NAME_MAX || h.name[h.name_len] != '\0'))
		abort();
	/* What follows a complete hello changes nothing, and one byte less is never enough. */
	if (n > 0 && (tls_hello_parse(data, (size_t)n, &h) != n || tls_hello_parse(data, (size_t)n - 1, &h) != 0))
		abort();
	return 0;
}
