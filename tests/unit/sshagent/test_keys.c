/* Public keys, known_hosts, fingerprints and signatures, against what ssh-keygen makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdbool.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "sshagent/ssh_crypto.h"
#include "sshagent/ssh_known_hosts.h"
#include "sshagent/ssh_public_key.h"
#include "tests/unit/guard_page.h"
#include "tests/unit/sshagent/ssh_made.h"
#include "tests/unit/sshagent/ssh_vectors.h"

/* Made by ssh-keygen -H, of git.example.com and of another. */
#define HASHED_GIT "|1|vW2f9R4bRBF67DlTBvOtygMxLwc=|jZnfuawNkFlHzrMUY2c51D0qy0A="
#define HASHED_OTHER "|1|QxJOMATQu/XZ0vcTwa24V37ggDg=|D11K6+pk33+E4toy7GVyweZeyTg="

static void base64(void **state)
{
	static const struct {
		const char *text;
		const char *bytes; /* NULL: refused */
	} cases[] = {
		{ "YQ==", "a" },  { "YWI=", "ab" }, { "YWJj", "abc" }, { "YWJjZA==", "abcd" },
		{ "", NULL },     { "YQ=", NULL },  { "YQ", NULL },    { "Y===", NULL },
		{ "Y=Jj", NULL }, { "YW=j", NULL }, { "YW-j", NULL },  { "====", NULL },
	};
	uint8_t out[8];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);
		struct guard_page page = guard_page_new(cases[i].text, len);
		ssize_t n = ssh_base64_decode(page.data, len, out, sizeof(out));

		if (cases[i].bytes ? n != (ssize_t)strlen(cases[i].bytes) || memcmp(out, cases[i].bytes, (size_t)n) != 0
				   : n != -EBADMSG)
			fail_msg("%s: %zd", cases[i].text, n);
		guard_page_done(&page);
	}
	assert_int_equal(ssh_base64_decode("YWJj", 4, out, 2), -ENOBUFS);
	assert_int_equal(ssh_base64_decode("YWI=", 4, out, 2), 2);
}

static void vectors_hold(void **state)
{
	uint8_t key[LIMIT_SSH_KEY], signature[LIMIT_SSH_KEY], data[LIMIT_SSH_KEY];
	char fingerprint[SSH_FINGERPRINT_SIZE];

	assert_int_equal(ssh_crypto_prepare(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		struct ssh_span k = { key, 0 }, s = { signature, 0 }, d = { data, 0 };

		assert_int_equal(ssh_public_key_parse(vectors[i].key, strlen(vectors[i].key), key, sizeof(key), &k.len),
				 0);
		s.len = (size_t)ssh_base64_decode(vectors[i].signature, strlen(vectors[i].signature), signature,
						  sizeof(signature));
		d.len = (size_t)ssh_base64_decode(vectors[i].data, strlen(vectors[i].data), data, sizeof(data));
		ssh_fingerprint(k, fingerprint);
		assert_string_equal(fingerprint, vectors[i].fingerprint);
		if (ssh_signature_verify(k, s, d) != vectors[i].good)
			fail_msg("vector %zu", i);
		data[d.len - 1] ^= 1;
		assert_false(ssh_signature_verify(k, s, d));
		data[d.len - 1] ^= 1;
		signature[s.len - 1] ^= 1;
		assert_false(ssh_signature_verify(k, s, d));
		signature[s.len - 1] ^= 1;
		for (size_t cut = 0; cut < s.len; cut++) {
			struct guard_page page = guard_page_new(signature, cut);

			assert_false(ssh_signature_verify(k, (struct ssh_span){ (uint8_t *)page.data, cut }, d));
			guard_page_done(&page);
		}
		for (size_t cut = 0; cut < k.len; cut++) {
			struct guard_page page = guard_page_new(key, cut);

			assert_false(ssh_signature_verify((struct ssh_span){ (uint8_t *)page.data, cut }, s, d));
			guard_page_done(&page);
		}
	}
}

static void public_keys(void **state)
{
	static const struct {
		const char *text;
		int r;
	} cases[] = {
		{ "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAAA== me", 0 },
		{ "ssh-ed25519 \t AAAAC3NzaC1lZDI1NTE5AAAAAA==", 0 },
		{ "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAAA==", -EBADMSG },
		{ "ssh-ed25519", -EBADMSG },
		{ "ssh-ed25519 AAAA", -EBADMSG },
		{ "", -EBADMSG },
		{ "ssh-dss AAAAB3NzaC1kc3M=", -EOPNOTSUPP },
	};
	uint8_t key[64];
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = strlen(cases[i].text);
		struct guard_page page = guard_page_new(cases[i].text, n);
		int r = ssh_public_key_parse(page.data, n, key, sizeof(key), &len);

		if (r != cases[i].r)
			fail_msg("%s: %d", cases[i].text, r);
		guard_page_done(&page);
	}
}

static void names(void **state)
{
	char name[32];

	assert_true(ssh_known_hosts_name("git.example.com", name, sizeof(name)));
	assert_string_equal(name, "git.example.com");
	assert_true(ssh_known_hosts_name("git.example.com:2222", name, sizeof(name)));
	assert_string_equal(name, "[git.example.com]:2222");
	assert_true(ssh_known_hosts_name("git.example.com:22", name, sizeof(name)));
	assert_string_equal(name, "git.example.com");
	assert_true(ssh_known_hosts_name("[::1]:2222", name, sizeof(name)));
	assert_string_equal(name, "[::1]:2222");
	assert_false(ssh_known_hosts_name("a-name-that-is-too-long.example.com", name, sizeof(name)));
}

static void known_hosts(void **state)
{
	static const struct {
		const char *line;
		enum ssh_known known;
	} cases[] = {
		{ "git.example.com ssh-ed25519 AAAA", SSH_KNOWN_KEY },
		{ "x,git.example.com,y ssh-ed25519 AAAA c", SSH_KNOWN_KEY },
		{ "GIT.example.com ssh-ed25519 AAAA", SSH_KNOWN_KEY },
		{ "*.example.com ssh-ed25519 AAAA", SSH_KNOWN_KEY },
		{ "g?t.*.c*m ssh-ed25519 AAAA", SSH_KNOWN_KEY },
		{ "*.example.com,!git.example.com ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "*.example.org ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "[git.example.com]:2222 ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "git.example.comx ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "git.example.com", SSH_KNOWN_NOT },
		{ "# git.example.com ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "", SSH_KNOWN_NOT },
		{ "@cert-authority *.example.com ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "@revoked git.example.com ssh-ed25519 AAAA", SSH_KNOWN_REVOKED },
		{ "|1|MDEyMzQ1Njc4OTAxMjM0NTY3ODk=|AAAA ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ "|1|", SSH_KNOWN_NOT },
		{ "|1|x ssh-ed25519 AAAA", SSH_KNOWN_NOT },
		{ HASHED_GIT " ssh-ed25519 AAAA", SSH_KNOWN_KEY },
		{ HASHED_OTHER " ssh-ed25519 AAAA", SSH_KNOWN_NOT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t n = strlen(cases[i].line);
		struct guard_page page = guard_page_new(cases[i].line, n);
		struct ssh_span key;
		enum ssh_known known = ssh_known_hosts_match(page.data, n, "git.example.com", ssh_hmac_sha1, &key);

		if (known != cases[i].known)
			fail_msg("%s: %d", cases[i].line, known);
		if (known != SSH_KNOWN_NOT)
			assert_memory_equal(key.data, "ssh-ed25519 AAAA", 16);
		guard_page_done(&page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(base64), cmocka_unit_test(vectors_hold), cmocka_unit_test(public_keys),
		cmocka_unit_test(names),  cmocka_unit_test(known_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
