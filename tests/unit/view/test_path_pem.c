/* Which *.pem is public. The text ends at a page that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/guard_page.h"
#include "view/path_pem.h"
#include "view/path_token.h"

#define WORDS "MIIBszCCAVmgAwIBAgIUYw0DpoWl0DtfqNFWBLcPyNRtv6UwCgYIKoZIzj0EAwIw\nAbc+/w==\n"
#define BLOCK(label) "-----BEGIN " label "-----\n" WORDS "-----END " label "-----\n"

static const struct {
	const char *text;
	bool public;
} samples[] = {
	{ BLOCK("CERTIFICATE"), true },
	{ BLOCK("CERTIFICATE") BLOCK("CERTIFICATE"), true },
	{ BLOCK("TRUSTED CERTIFICATE"), true },
	{ BLOCK("CERTIFICATE REQUEST"), true },
	{ BLOCK("X509 CRL"), true },
	{ BLOCK("PUBLIC KEY"), true },
	{ BLOCK("RSA PUBLIC KEY"), true },
	{ BLOCK("EC PARAMETERS") BLOCK("DH PARAMETERS"), true },
	{ "-----BEGIN CERTIFICATE-----\r\nMIIB\r\n-----END CERTIFICATE-----", true },
	{ "\n# Amazon Root CA 1\nsubject=/C=US/CN=x y\n\n" BLOCK("CERTIFICATE"), true },
	{ "Certificate:\n    Data:\n        Serial Number:\n            "
	  "6c:22:0d:f3:5a:00:11:22:33:44:55:66:77:88\n" BLOCK("CERTIFICATE"),
	  true },
	/* keys, alone and beside certificates */
	{ BLOCK("PRIVATE KEY"), false },
	{ BLOCK("RSA PRIVATE KEY"), false },
	{ BLOCK("EC PARAMETERS") BLOCK("EC PRIVATE KEY"), false },
	{ BLOCK("ENCRYPTED PRIVATE KEY"), false },
	{ BLOCK("OPENSSH PRIVATE KEY"), false },
	{ BLOCK("CERTIFICATE") BLOCK("PRIVATE KEY"), false },
	{ BLOCK("PRIVATE KEY") BLOCK("CERTIFICATE"), false },
	{ BLOCK("PKCS7"), false },
	{ BLOCK("CERTIFICATE") BLOCK("SOMETHING NEW"), false },
	{ BLOCK("CERTIFICATE") "-----BEGIN RSA PRIVATE KEY-----\n" WORDS, false },
	/* a block in a block, others' ends, no end, headers, nothing in it */
	{ "-----BEGIN CERTIFICATE-----\n" BLOCK("PRIVATE KEY") "-----END CERTIFICATE-----\n", false },
	{ "-----BEGIN CERTIFICATE-----\n" WORDS "-----END PUBLIC KEY-----\n", false },
	{ "-----BEGIN CERTIFICATE-----\n" WORDS, false },
	{ "-----BEGIN CERTIFICATE-----\nProc-Type: 4,ENCRYPTED\n\n" WORDS "-----END CERTIFICATE-----\n", false },
	{ "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", false },
	{ "-----BEGIN CERTIFICATE----- " WORDS "-----END CERTIFICATE-----\n", false },
	{ "----- BEGIN PRIVATE KEY -----\n" WORDS BLOCK("CERTIFICATE"), false },
	/* a key without a block */
	{ WORDS, false },
	{ WORDS BLOCK("CERTIFICATE"), false },
	{ BLOCK("CERTIFICATE") "0123456789abcdef0123456789abcdef\n", false },
	{ BLOCK("CERTIFICATE") "key: 0123456789abcdef0123456789abcdef\n", false },
	{ "Private-Key: (2048 bit)\n" BLOCK("PUBLIC KEY"), false },
	{ "RSA PRIVATE exponent\n" BLOCK("PUBLIC KEY"), false },
	{ "\x01" BLOCK("CERTIFICATE"), false },
	/* what is none */
	{ "", false },
	{ "\n\n", false },
	{ "# a note\n", false },
	{ "token=abc\n", false },
};

static void table(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		size_t len = strlen(samples[i].text);
		struct guard_page g = guard_page_new(samples[i].text, len);
		const char *text = g.data;

		if (path_pem_is_public(text, len) != samples[i].public)
			fail_msg("%s", samples[i].text);
		assert_true(path_token_found("/p/x.pem", text, len, true) != samples[i].public);
		/* Not read to the end: in doubt a secret. */
		assert_true(path_token_found("/p/x.pem", text, len, false));
		for (size_t k = 0; k < len; k++)
			path_pem_is_public(text + k, len - k);
		guard_page_done(&g);
	}
}

static void nul_is_nothing_public(void **state)
{
	static const char head[] = "x\0y\n" BLOCK("CERTIFICATE");
	static const char in_block[] = "-----BEGIN CERTIFICATE-----\nMIIB\0\n-----END CERTIFICATE-----\n";

	assert_false(path_pem_is_public(head, sizeof(head) - 1));
	assert_false(path_pem_is_public(in_block, sizeof(in_block) - 1));
}

/* Only by its ending: elsewhere the usual look holds. */
static void other_names(void **state)
{
	assert_false(path_token_found("/p/x.pem/y", "", 0, true));
	assert_true(path_token_found("/p/.pem", "", 0, true));
	assert_false(path_token_found("pem", "", 0, true));
	assert_false(path_token_found("", "", 0, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(nul_is_nothing_public),
		cmocka_unit_test(other_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
