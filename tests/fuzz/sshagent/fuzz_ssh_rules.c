#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "sshagent/ssh_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read is written back as it was. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_buffer_ struct buffer again = BUFFER_INIT(LIMIT_SSH_RULES);
	_cleanup_free_ void *block = NULL;
	struct ssh_rules rules;

	if (size > LIMIT_SSH_RULES || ssh_rules_decode(data, size, &rules, &block) < 0)
		return 0;
	if (ssh_rules_encode(&rules, &again) < 0 || again.len != size || memcmp(again.data, data, size) != 0)
		abort();
	return 0;
}
