/* Heads of requests and responses, what they say about their body, and the heads passed on in their place. */
#include <stdlib.h>
#include <string.h>

#include "daemon/session/gateway/http_accept.h"
#include "daemon/session/gateway/http_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *data, size_t size, ssize_t (*parse)(const char *, size_t, struct http_head *))
{
	struct buffer out = BUFFER_INIT(4 * LIMIT_HTTP_HEAD);
	struct http_facts facts, again_facts;
	struct http_head head, again;
	ssize_t n = parse(data, size, &head);

	if (n > (ssize_t)size)
		abort();
	if (n > 0)
		(void)http_accept_prefers_json(&head);
	if (n > 0 && http_facts_read(&head, &facts) == 0) {
		struct http_slice path = { "/", 1 }, host = { "ok.example", 10 };
		int r = head.is_request ? http_facts_request(&head, &facts, path, host, &out)
					: http_facts_response(&head, &facts, facts.close, &out);

		if (r < 0)
			abort();
		/* What we send must say the same about the body when it is read by the same rules. */
		n = parse(out.data, out.len, &again);
		if (n > 0 && ((size_t)n != out.len || http_facts_read(&again, &again_facts) < 0 ||
			      again_facts.body != facts.body || again_facts.length != facts.length))
			abort();
		if (n <= 0 && out.len < LIMIT_HTTP_HEAD - 64 && head.n_headers < LIMIT_HTTP_HEADERS - 4)
			abort();
	}
	buffer_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	check(text, size, http_head_request);
	check(text, size, http_head_response);
	if (http_head_sniff(text, size) > 1)
		abort();
	return 0;
}
