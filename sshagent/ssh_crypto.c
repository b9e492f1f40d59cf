#include "sshagent/ssh_crypto.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define RSA_BITS_MIN 2048
#define RSA_BITS_MAX 16384
#define INTEGER_MAX (RSA_BITS_MAX / 8 + 1)

int ssh_crypto_prepare(void)
{
	static const char *const digests[] = { "SHA1", "SHA256", "SHA384", "SHA512" };
	uint8_t hash[EVP_MAX_MD_SIZE];

	/* Providers of openssl.cnf are of no use here. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
		return -EIO;
	for (size_t i = 0; i < ARRAY_SIZE(digests); i++)
		if (EVP_Q_digest(NULL, digests[i], NULL, "", 0, hash, NULL) != 1)
			return -EIO;
	return 0;
}

void ssh_fingerprint(struct ssh_span key, char ret[SSH_FINGERPRINT_SIZE])
{
	uint8_t hash[32];
	char text[48];

	ret[0] = '\0';
	if (EVP_Q_digest(NULL, "SHA256", NULL, key.data, key.len, hash, NULL) != 1)
		return;
	EVP_EncodeBlock((unsigned char *)text, hash, sizeof(hash));
	snprintf(ret, SSH_FINGERPRINT_SIZE, "SHA256:%.43s", text);
}

bool ssh_hmac_sha1(const uint8_t salt[20], const char *text, uint8_t ret[20])
{
	unsigned len = 20;

	return HMAC(EVP_sha1(), salt, 20, (const unsigned char *)text, strlen(text), ret, &len) && len == 20;
}

static EVP_PKEY *key_from_params(const char *type, OSSL_PARAM_BLD *build)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(build);
	EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (params && ctx && EVP_PKEY_fromdata_init(ctx) == 1)
		(void)EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params);
	EVP_PKEY_CTX_free(ctx);
	OSSL_PARAM_free(params);
	return key;
}

static BIGNUM *read_integer(struct ssh_reader *r)
{
	struct ssh_span bytes;

	/* A positive one: its highest bit is clear. */
	if (!ssh_read_string(r, &bytes) || bytes.len == 0 || bytes.len > INTEGER_MAX || bytes.data[0] & 0x80)
		return NULL;
	return BN_bin2bn(bytes.data, (int)bytes.len, NULL);
}

static EVP_PKEY *read_rsa(struct ssh_reader *r)
{
	BIGNUM *e = read_integer(r), *n = read_integer(r);
	OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
	EVP_PKEY *key = NULL;

	if (e && n && build && ssh_read_end(r) && BN_num_bits(n) >= RSA_BITS_MIN && BN_num_bits(n) <= RSA_BITS_MAX &&
	    BN_num_bits(e) <= 64 && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n) &&
	    OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e))
		key = key_from_params("RSA", build);
	OSSL_PARAM_BLD_free(build);
	BN_free(e);
	BN_free(n);
	return key;
}

static const struct curve {
	const char *type;
	const char *name;  /* of SSH */
	const char *group; /* of OpenSSL */
	const char *digest;
} curves[] = {
	{ "ecdsa-sha2-nistp256", "nistp256", "P-256", "SHA256" },
	{ "ecdsa-sha2-nistp384", "nistp384", "P-384", "SHA384" },
	{ "ecdsa-sha2-nistp521", "nistp521", "P-521", "SHA512" },
};

static EVP_PKEY *read_ecdsa(struct ssh_reader *r, const struct curve *curve)
{
	struct ssh_span name, point;
	OSSL_PARAM_BLD *build;
	EVP_PKEY *key = NULL;

	if (!ssh_read_string(r, &name) || !ssh_span_is(name, curve->name) || !ssh_read_string(r, &point) ||
	    !ssh_read_end(r))
		return NULL;
	build = OSSL_PARAM_BLD_new();
	if (build && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, curve->group, 0) &&
	    OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point.data, point.len))
		key = key_from_params("EC", build);
	OSSL_PARAM_BLD_free(build);
	return key;
}

static bool verify(EVP_PKEY *key, const char *digest, struct ssh_span signature, struct ssh_span data)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && key && EVP_DigestVerifyInit_ex(ctx, NULL, digest, NULL, NULL, key, NULL) == 1 &&
		    EVP_DigestVerify(ctx, signature.data, signature.len, data.data, data.len) == 1;

	EVP_MD_CTX_free(ctx);
	return good;
}

static bool verify_ecdsa(EVP_PKEY *key, const char *digest, struct ssh_span signature, struct ssh_span data)
{
	struct ssh_reader r = ssh_reader_of(signature);
	BIGNUM *a = read_integer(&r), *b = read_integer(&r);
	ECDSA_SIG *pair = ECDSA_SIG_new();
	unsigned char *der = NULL;
	bool good = false;
	int len;

	if (pair && a && b && ssh_read_end(&r) && ECDSA_SIG_set0(pair, a, b)) {
		a = b = NULL;
		len = i2d_ECDSA_SIG(pair, &der);
		good = len > 0 && verify(key, digest, (struct ssh_span){ der, (size_t)len }, data);
	}
	OPENSSL_free(der);
	ECDSA_SIG_free(pair);
	BN_free(a);
	BN_free(b);
	return good;
}

static bool verify_ed25519(struct ssh_reader *r, struct ssh_span signature, struct ssh_span data)
{
	struct ssh_span raw;
	EVP_PKEY *key;
	bool good;

	if (!ssh_read_string(r, &raw) || raw.len != 32 || !ssh_read_end(r))
		return false;
	key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, raw.data, raw.len);
	good = verify(key, NULL, signature, data);
	EVP_PKEY_free(key);
	return good;
}

static bool verify_rsa(struct ssh_reader *r, struct ssh_span algorithm, struct ssh_span signature, struct ssh_span data)
{
	const char *digest = ssh_span_is(algorithm, "rsa-sha2-256")   ? "SHA256"
			     : ssh_span_is(algorithm, "rsa-sha2-512") ? "SHA512"
								      : NULL;
	EVP_PKEY *key = digest ? read_rsa(r) : NULL;
	bool good = key && verify(key, digest, signature, data);

	EVP_PKEY_free(key);
	return good;
}

bool ssh_signature_verify(struct ssh_span key, struct ssh_span signature, struct ssh_span data)
{
	struct ssh_reader r = ssh_reader_of(key), s = ssh_reader_of(signature);
	struct ssh_span type, algorithm, bytes;

	if (!ssh_read_string(&r, &type) || !ssh_read_string(&s, &algorithm) || !ssh_read_string(&s, &bytes) ||
	    !ssh_read_end(&s))
		return false;
	if (ssh_span_is(type, "ssh-rsa"))
		return verify_rsa(&r, algorithm, bytes, data);
	if (!ssh_span_equals(type, algorithm))
		return false;
	if (ssh_span_is(type, "ssh-ed25519"))
		return verify_ed25519(&r, bytes, data);
	for (size_t i = 0; i < ARRAY_SIZE(curves); i++) {
		EVP_PKEY *point;
		bool good;

		if (!ssh_span_is(type, curves[i].type))
			continue;
		point = read_ecdsa(&r, &curves[i]);
		good = point && verify_ecdsa(point, curves[i].digest, bytes, data);
		EVP_PKEY_free(point);
		return good;
	}
	return false;
}
