#include <stdlib.h>
#include <string.h>

#include "daemon/session/dns/dns_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was read can be answered, and the answer is no query. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t address[16] = { 0xfd };
	struct dns_answer answer = {
		.type = DNS_AAAA, .address = address, .ede = DNS_EDE_BLOCKED, .ede_text = "denied"
	};
	struct dns_query q, again;
	uint8_t reply[DNS_REPLY_MAX], reverse[16];
	int r = dns_query_parse(data, size, &q);

	if (r < 0)
		return 0;
	if (r > 0)
		answer.type = 0;
	answer.rcode = (uint16_t)r;
	if (strlen(q.name) > HOSTNAME_MAX || dns_reverse_parse(q.name, reverse) == 0)
		abort();
	if (dns_query_parse(reply, dns_reply_write(&q, &answer, reply), &again) >= 0)
		abort();
	return 0;
}
