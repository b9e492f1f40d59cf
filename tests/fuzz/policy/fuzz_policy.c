/* A policy text, as the administrator's and as a user's. What loads can be written, and has rules as it has entries. */
#include <stdlib.h>
#include <string.h>

#include "json/write.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct policy *p)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT((size_t)64 << 20);
	struct json_writer *w = json_write_new(&text);

	if (p->egress.n_rules != p->allowed_domains.count + p->denied_domains.count)
		abort();
	policy_write(p, w);
	if (json_write_finish(w) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum policy_layer_kind layers[] = { POLICY_ADMINISTRATOR, POLICY_USER };

	for (size_t i = 0; i < 2; i++) {
		const struct policy_input input = {
			.layer = layers[i], .path = "fuzz.json", .text = (const char *)data, .len = size
		};
		struct error e = ERROR_INIT;
		struct policy p;
		int r = policy_load(&input, 1, &p, &e);

		if (r == 0)
			check(&p);
		else if (e.code == ERROR_NONE || e.message[0] == '\0')
			abort();
		policy_done(&p);
	}
	return 0;
}
