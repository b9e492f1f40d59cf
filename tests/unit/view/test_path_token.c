/* Which files show a secret. The text ends at a page that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/guard_page.h"
#include "view/path_token.h"

struct sample {
	const char *text;
	size_t len; /* 0: the text's own */
	bool found;
};

static const struct sample samples[] = {
	/* npm, yarn */
	{ "//registry.example/:_authToken=npm_abcdef\n", 0, true },
	{ "registry=https://registry.example/\n//registry.example:8080/:_authToken = abc", 0, true },
	{ "_auth=dXNlcjpw\r\n", 0, true },
	{ "//registry.example/:_password=\"cA==\"\n", 0, true },
	{ "//registry.example/:_authToken=${NPM_TOKEN}\n", 0, false },
	{ "# //registry.example/:_authToken=abc\n; _auth=abc\n", 0, false },
	{ "always-auth=true\nregistry=https://registry.example/\nsave-exact=true\n", 0, false },
	{ "engine-strict=true", 0, false },
	{ "npmAuthToken: \"abc\"\n", 0, true },
	{ "npmAuthToken: \"${TOKEN:-}\"\nnpmAlwaysAuth: true\n", 0, false },
	/* pip, URLs */
	{ "[global]\nindex-url = https://user:secret@pypi.example/simple\n", 0, true },
	{ "[global]\nindex-url = https://user:${PW}@pypi.example/simple\n", 0, false },
	{ "[global]\nindex-url = https://pypi.example/simple # a@b\n", 0, false },
	{ "[global]\nindex-url = https://user@pypi.example/simple\n", 0, false },
	/* cargo, terraform, YAML, JSON */
	{ "[registries.x]\ntoken = \"abc\"\n", 0, true },
	{ "[build]\njobs = 4\n", 0, false },
	{ "db_password = \"abc\"\n", 0, true },
	{ "db_password = var.password\n", 0, false },
	{ "region = \"eu\"\nuse_token = true,\n", 0, false },
	{ "  password: {{ .Values.password }}\n", 0, false },
	{ "  password: hunter2\n", 0, true },
	{ "{ \"apiKey\": \"abc\" }\n", 0, true },
	{ "{ \"apiKey\": \"\" }\n", 0, true }, /* the brace is taken for a value: rather too much than too little */
	{ "password:\n", 0, false },
	{ "password: ''\n", 0, false },
	/* keys */
	{ "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n", 0, true },
	{ "-----BEGIN RSA PRIVATE KEY-----", 0, true },
	{ "-----BEGIN PGP PRIVATE KEY BLOCK-----\n", 0, true },
	{ "-----BEGIN OpenVPN Static key V1-----\n", 0, true },
	{ "-----BEGIN CERTIFICATE-----\nMIIB\n", 0, false },
	{ "-----BEGIN PGP SIGNATURE-----\nabc\n=ab\n", 0, false },
	{ "-----BEGIN PGP PUBLIC KEY BLOCK-----\n", 0, false },
	{ "0123456789abcdef0123456789abcdef\n", 0, true },
	{ "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=\n", 0, true },
	{ "0123456789abcdef\n", 0, false },
	{ "PK\3\4-----BEGIN PRIVATE KEY-----", 0, false },
	{ "\x30\x82\x04\xbd\x02\x01\x00\x30", 8, true },
	{ "\x30\x77\x02\x01\x01\x04", 6, true },
	{ "\x30\x81\x87\x02\x01\x00\x30", 7, true },
	{ "\x30\x82\x03\x0b\x30\x82\x01\xf3", 8, false },
	{ "\x30\x82", 2, false },
	{ "\x30", 1, false },
	{ "greeting=Hello\nname=World\n", 0, false },
	{ "", 0, false },
	{ "\n\n=\n:\n=x\n", 0, false },
	{ "token", 0, false },
	{ "://", 0, false },
	{ "a://b:c@", 0, true },
	{ "\0\0\0=\0", 5, false },
};

static void table(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		size_t len = samples[i].len ? samples[i].len : strlen(samples[i].text);
		struct guard_page g = guard_page_new(samples[i].text, len);
		const char *text = g.data;

		if (path_token_found("/p/x", text, len, true) != samples[i].found)
			fail_msg("%s", samples[i].text);
		/* Whatever is cut off, nothing behind the end is read. */
		for (size_t k = 0; k < len; k++)
			path_token_found("/p/x", text + k, len - k, true);
		guard_page_done(&g);
	}
}

static void long_ones_count_as_secrets(void **state)
{
	assert_true(path_token_found("/p/x", "a=b\n", 4, false));
	assert_false(path_token_found("/p/x", "PK\3\4", 4, false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(long_ones_count_as_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
