#include <stdlib.h>

#include "sshagent/ssh_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What an agent answers: the keys lie in it, and no more of them than it says. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ssh_span body = { data, size }, key, comment;
	struct ssh_identities i;
	unsigned n = 0;

	(void)ssh_signature_is_valid(body);
	if (ssh_identities_begin(body, &i) < 0)
		return 0;
	while (ssh_identities_next(&i, &key, &comment) > 0)
		if (++n > SSH_IDENTITIES_MAX || key.data < data || comment.data + comment.len > data + size)
			abort();
	return 0;
}
