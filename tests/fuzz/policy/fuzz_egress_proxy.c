/* What decodes must encode to as many bytes, and answers every question without a crash. */
#include <netinet/in.h>
#include <stdlib.h>

#include "policy/egress_proxy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct egress_target targets[] = {
		{ .name = "git.corp.example", .port = 443 },
		{ .family = AF_INET, .address = { 10, 1, 2, 3 }, .port = 22 },
		{ .family = AF_INET6, .address = { [15] = 1 }, .port = 22 },
	};
	const struct egress_rules rules = { .n_rules = 0 };
	_cleanup_buffer_ struct buffer again = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_proxy p;

	if (egress_proxy_decode(data, size, &p) < 0)
		return 0;
	if (p.port == 0 || egress_proxy_encode(&p, &again) < 0 || again.len != size)
		abort();
	for (unsigned i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		egress_proxy_takes(&p, &rules, &targets[i]);
	egress_proxy_done(&p);
	return 0;
}
