#include <stdlib.h>
#include <sys/socket.h>

#include "daemon/session/nflog_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The same bytes as a read of the socket and as one packet. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nflog_packet p = { 0 };
	size_t at = 0, last = 0;

	while (nflog_message_next(data, size, &at, &p)) {
		if (at <= last || at > size || (p.family != AF_INET && p.family != AF_INET6))
			abort();
		last = at;
	}
	if (at != size)
		abort();
	if (nflog_packet_parse(data, size, &p) == 0 && p.family != AF_INET && p.family != AF_INET6)
		abort();
	return 0;
}
