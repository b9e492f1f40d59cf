#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "sshagent/ssh_known_hosts.h"
#include "sshagent/ssh_public_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool hmac(const uint8_t salt[20], const char *text, uint8_t ret[20])
{
	memcpy(ret, salt, 20);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t bytes[LIMIT_SSH_KEY];
	struct ssh_span key;
	size_t len;

	if (ssh_known_hosts_match((const char *)data, size, "git.example.com", hmac, &key) == SSH_KNOWN_NOT)
		return 0;
	if (key.data < data || key.data + key.len != data + size)
		abort();
	if (ssh_public_key_parse((const char *)key.data, key.len, bytes, sizeof(bytes), &len) == 0 &&
	    (len == 0 || len > sizeof(bytes)))
		abort();
	return 0;
}
