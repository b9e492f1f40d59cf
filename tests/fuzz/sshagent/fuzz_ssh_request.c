#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "sshagent/ssh_verdict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool accept_proof(struct ssh_span key, struct ssh_span signature, struct ssh_span data)
{
	return true;
}

/* Whatever a program sends on one connection: nothing is signed that is not a login of the bound session or for git. */
static void check(const struct ssh_rules *rules, struct ssh_bound *bound, struct ssh_span body)
{
	struct ssh_request q;
	struct ssh_signed s;
	char target[SSH_TARGET_MAX];
	const char *host;

	if (ssh_request_parse(body, &q) < 0)
		return;
	if (q.kind == SSH_REQUEST_BIND)
		ssh_verdict_bind(rules, bound, &q, accept_proof, &host);
	if (q.kind != SSH_REQUEST_SIGN || ssh_verdict_sign(rules, bound, &q, true, target) != SSH_ALLOWED)
		return;
	ssh_signed_parse(q.data, &s);
	if (s.kind == SSH_SIGNED_OTHER || bound->state == SSH_BOUND_FORWARDED ||
	    (s.kind == SSH_SIGNED_LOGIN && bound->state != SSH_BOUND_TO_HOST) ||
	    (s.kind == SSH_SIGNED_SIGNATURE && strcmp(target, "git") != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ssh_host_key host = { "git.example.com", { (const uint8_t *)"H1", 2 } };
	const struct ssh_rules rules = { .git_signatures = true, .host_keys = &host, .n_host_keys = 1 };
	struct ssh_bound bound = { .state = SSH_UNBOUND };
	ssize_t n;

	while ((n = ssh_frame_size(data, size, LIMIT_SSH_REQUEST)) > 0) {
		if ((size_t)n > size)
			abort();
		check(&rules, &bound, (struct ssh_span){ data + SSH_FRAME_HEAD, (size_t)n - SSH_FRAME_HEAD });
		data += n;
		size -= (size_t)n;
	}
	return 0;
}
