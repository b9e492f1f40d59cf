#include "policy/policy_digest.h"

#include <errno.h>
#include <openssl/evp.h>

#include "json/write.h"

/* Every layer full, and each byte written as an escape of six. */
#define DIGEST_TEXT_MAX ((size_t)LIMIT_POLICY_FILE * LIMIT_POLICY_LAYERS * 6)

int policy_digest(const struct policy *p, char ret[65])
{
	static const char digits[] = "0123456789abcdef";
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(DIGEST_TEXT_MAX);
	struct json_writer *w = json_write_new(&text);
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	int r;

	policy_write_values(p, w, false);
	r = json_write_finish(w);
	if (r < 0)
		return r;
	if (EVP_Digest(text.data, text.len, hash, &n, EVP_sha256(), NULL) != 1 || n != 32)
		return -EIO;
	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[64] = '\0';
	return 0;
}
