#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "gpgagent/gpg_verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LENT "7A70BD896950779D54390F49BC37A6AF3944AF8C"

/* Whatever the program wrote: the agent is asked for nothing but the named key, in commands of ours. */
static void check_commands(const struct gpg_rules *rules, const struct gpg_chosen *chosen, const struct gpg_request *q)
{
	static const char *const begins[] = { "RESET\n", "SIGKEY " LENT "\n", "SETKEYDESC ", "SETHASH ", "PKSIGN\n" };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(2048);
	size_t n = 0;

	if (gpg_commands_write(rules, chosen, q, &b) < 0 || b.len == 0 || b.data[b.len - 1] != '\n')
		abort();
	if (q->kind == GPG_REQUEST_HAVEKEY) {
		for (size_t at = 7; at + 1 < b.len; at += 41)
			if (at + 41 >= b.len || memcmp(b.data + at, " " LENT, 41) != 0)
				abort();
		return;
	}
	for (const char *at = b.data, *end; at < b.data + b.len; at = end + 1, n++) {
		end = memchr(at, '\n', b.len - (size_t)(at - b.data));
		if (n >= ARRAY_SIZE(begins) || strncmp(at, begins[n], strlen(begins[n])) != 0 ||
		    end - at >= (ptrdiff_t)LIMIT_ASSUAN_LINE)
			abort();
	}
	if (n != ARRAY_SIZE(begins))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct gpg_rules rules = { LENT, 1 };
	const char *at = (const char *)data;
	struct gpg_chosen chosen = { .algorithm = 0 };
	struct gpg_request q;
	ssize_t n;

	while ((n = gpg_line_size(at, size)) > 0) {
		if ((size_t)n > size || (size_t)n > LIMIT_ASSUAN_LINE)
			abort();
		if (gpg_request_parse(at, (size_t)n - 1, &q) == 0 && gpg_verdict(&rules, &chosen, &q) == GPG_ALLOWED &&
		    (q.kind == GPG_REQUEST_SIGN || q.kind == GPG_REQUEST_HAVEKEY))
			check_commands(&rules, &chosen, &q);
		at += n;
		size -= (size_t)n;
	}
	return 0;
}
