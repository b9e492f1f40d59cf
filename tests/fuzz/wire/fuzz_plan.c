/* plan_decode: root reads these bytes. What is accepted must be well-formed and come out of the encoder unchanged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "daemon/wire/plan.h"
#include "view/protect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer b = BUFFER_INIT(LIMIT_PLAN);
	struct error e = ERROR_INIT;
	struct plan plan;
	void *block = NULL;

	if (plan_decode(data, size, &plan, &block, &e) < 0) {
		check(block == NULL);
		return 0;
	}
	check(plan.argv[plan.n_argv] == NULL && plan.envp[plan.n_envp] == NULL);
	check(plan_path_is_clean(plan.cwd));
	for (uint32_t i = 0; i < plan.n_envp; i++)
		check(strchr(plan.envp[i], '=') != NULL);
	for (uint32_t i = 0; i < plan.n_mounts; i++)
		check(plan_path_is_clean(plan.mounts[i].target));
	for (uint32_t i = 0; i < plan.n_rules; i++)
		check(plan_path_is_clean(plan.rules[i].pattern) && plan.rules[i].group < PROTECT_GROUP_COUNT);
	check(plan_encode(&plan, &b) == 0);
	check(b.len == size && memcmp(b.data, data, size) == 0);
	buffer_done(&b);
	free(block);
	return 0;
}
