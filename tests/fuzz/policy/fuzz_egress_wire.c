/* What decodes must encode to as many bytes (pins are sorted), and answers every question without a crash. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "policy/egress_tls.h"
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

/* What need not be named is not named; what it is named must fit all the same. */
static void say_hello(const struct egress_rules *r, const struct egress_rule *rule)
{
	const struct egress_target t = { .name = rule->name, .port = rule->port ? rule->port : 443 };
	const struct egress_hello unnamed = { .name = NULL }, other = { .name = "x..", .name_len = 3 };

	if (rule->kind == EGRESS_RULE_HOST && egress_tls_decide(r, &t, &unnamed) != EGRESS_ALLOWED)
		abort();
	if (egress_tls_decide(r, &t, &other) != EGRESS_SNI_MISMATCH)
		abort();
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
	for (uint32_t i = 0; i < r.tls.n_no_sni; i++)
		say_hello(&r, &r.tls.no_sni[i]);
	egress_rules_done(&r);
	return 0;
}
