/* What decodes must encode to as many bytes (pins are sorted), and answers every question without a crash. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct egress_rules *r, const char *name)
{
	const struct egress_target by_name = { .name = name, .port = 443 };
	struct egress_verdict v;

	egress_decide(r, &by_name, &v);
	if (v.allowed && v.reason != EGRESS_LEARNED && (v.rule >= r->n_rules || r->rules[v.rule].deny))
		abort();
	if (v.reason == EGRESS_LEARNED && r->unlisted != EGRESS_UNLISTED_LEARN)
		abort();
	egress_decide_dns(r, name, &v);
	egress_pin_find(r, name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct buffer again = BUFFER_INIT(LIMIT_EGRESS);
	struct egress_rules r;
	struct egress_verdict v;

	if (egress_decode(data, size, &r) < 0)
		return 0;
	if (egress_encode(&r, &again) < 0 || again.len != size)
		abort();
	ask(&r, "a.ok.example");
	for (uint32_t i = 0; i < r.n_rules && i < 64; i++) {
		struct egress_target t = { .family = r.rules[i].family, .port = r.rules[i].port };

		if (r.rules[i].name) {
			ask(&r, r.rules[i].name);
			continue;
		}
		memcpy(t.address, r.rules[i].address, sizeof(t.address));
		egress_decide(&r, &t, &v);
		egress_decide_address(&r, "ok.example", t.family, t.address, 443, &v);
	}
	egress_rules_done(&r);
	return 0;
}
