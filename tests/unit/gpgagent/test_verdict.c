/* Who may sign what, and what the user's agent is asked then. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gpgagent/gpg_verdict.h"

#define LENT "7A70BD896950779D54390F49BC37A6AF3944AF8C"
#define KEPT "0000000000000000000000000000000000000000"
#define SHA256 "00112233445566778899AABBCCDDEEFF00112233445566778899AABBCCDDEEFF"

static const struct gpg_rules rules = { LENT, 1 };

static enum gpg_reason judge(struct gpg_chosen *c, const char *line, struct gpg_request *q)
{
	assert_int_equal(gpg_request_parse(line, strlen(line), q), 0);
	return gpg_verdict(&rules, c, q);
}

static void must_ask(struct gpg_chosen *c, const char *line, const char *commands)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(2048);
	struct gpg_request q;

	assert_int_equal(judge(c, line, &q), GPG_ALLOWED);
	assert_int_equal(gpg_commands_write(&rules, c, &q, &b), 0);
	assert_int_equal(buffer_append(&b, "", 1), 0);
	assert_string_equal(b.data, commands);
}

static void only_named_keys(void **state)
{
	struct gpg_chosen c = { .algorithm = 0 };
	struct gpg_request q;

	assert_int_equal(judge(&c, "HAVEKEY " KEPT, &q), GPG_KEY_NOT_NAMED);
	assert_int_equal(judge(&c, "SIGKEY " KEPT, &q), GPG_KEY_NOT_NAMED);
	/* Of several the named ones alone are asked for. */
	must_ask(&c, "HAVEKEY " KEPT " " LENT " " KEPT, "HAVEKEY " LENT "\n");
}

static void a_signature_needs_key_and_hash(void **state)
{
	struct gpg_chosen c = { .algorithm = 0 };
	struct gpg_request q;

	assert_int_equal(judge(&c, "PKSIGN", &q), GPG_NOTHING_CHOSEN);
	assert_int_equal(judge(&c, "SIGKEY " LENT, &q), GPG_ALLOWED);
	assert_int_equal(judge(&c, "PKSIGN", &q), GPG_NOTHING_CHOSEN);
	assert_int_equal(judge(&c, "SETHASH 8 " SHA256, &q), GPG_ALLOWED);
	must_ask(&c, "PKSIGN",
		 "RESET\nSIGKEY " LENT "\nSETKEYDESC A+session+of+isod+wants+a+signature.%0AKeygrip:+" LENT
		 "%0Asha256:+0011223344556677...\nSETHASH 8 " SHA256 "\nPKSIGN\n");
	/* What is refused leaves nothing of before: the program would sign with another key than it asked for. */
	assert_int_equal(judge(&c, "SIGKEY " KEPT, &q), GPG_KEY_NOT_NAMED);
	assert_int_equal(judge(&c, "PKSIGN", &q), GPG_NOTHING_CHOSEN);
	assert_int_equal(judge(&c, "SIGKEY " LENT, &q), GPG_ALLOWED);
	assert_int_equal(judge(&c, "SETHASH 8 00", &q), GPG_WEAK_HASH);
	assert_int_equal(judge(&c, "PKSIGN", &q), GPG_NOTHING_CHOSEN);
	assert_int_equal(judge(&c, "SETHASH 8 " SHA256, &q), GPG_ALLOWED);
	assert_int_equal(judge(&c, "RESET", &q), GPG_ALLOWED);
	assert_int_equal(judge(&c, "PKSIGN", &q), GPG_NOTHING_CHOSEN);
}

static void no_weak_hash(void **state)
{
	struct gpg_chosen c = { .algorithm = 0 };
	struct gpg_request q;

	assert_int_equal(judge(&c, "SETHASH 2 0011223344556677889900112233445566778899", &q), GPG_WEAK_HASH);
	assert_int_equal(judge(&c, "SETHASH --hash=sha1 0011223344556677889900112233445566778899", &q), GPG_WEAK_HASH);
	assert_int_equal(judge(&c, "SETHASH 10 " SHA256, &q), GPG_WEAK_HASH);
	assert_int_equal(judge(&c, "SETHASH 10 " SHA256 SHA256, &q), GPG_ALLOWED);
	assert_string_equal(gpg_hash_name(c.algorithm), "sha512");
	assert_string_equal(gpg_hash_name(0), "");
	assert_string_equal(gpg_hash_name(99), "");
}

static void the_rest_is_refused(void **state)
{
	struct gpg_chosen c = { .algorithm = 0 };
	struct gpg_request q;

	assert_int_equal(judge(&c, "PKDECRYPT", &q), GPG_NOT_SERVED);
	assert_int_equal(judge(&c, "OPTION pinentry-mode=loopback", &q), GPG_NOT_SERVED);
	assert_int_equal(gpg_reason_error(GPG_NOT_SERVED), 67109115);    /* as gpg-agent says "Forbidden" */
	assert_int_equal(gpg_reason_error(GPG_KEY_NOT_NAMED), 67108881); /* "No secret key" */
	for (unsigned i = 0; i < GPG_REASON_COUNT; i++)
		assert_string_not_equal(gpg_reason_name(i), "unknown");
	for (unsigned i = 0; i < GPG_REQUEST_KIND_COUNT; i++)
		assert_string_not_equal(gpg_request_name(i), "unknown");
	assert_string_equal(gpg_reason_name(GPG_REASON_COUNT), "unknown");
	assert_string_equal(gpg_request_name(GPG_REQUEST_KIND_COUNT), "unknown");
}

static void wire(void **state)
{
	static char many[(LIMIT_GPG_KEYS + 1) * GPG_GRIP_LEN];
	struct gpg_rules got;

	assert_int_equal(gpg_rules_decode(LENT KEPT, 80, &got), 0);
	assert_int_equal(got.n, 2);
	assert_true(gpg_rules_name(&got, KEPT));
	assert_false(gpg_rules_name(&rules, KEPT));
	assert_int_equal(gpg_rules_decode(LENT, 0, &got), -EBADMSG);
	assert_int_equal(gpg_rules_decode(LENT KEPT, 79, &got), -EBADMSG);
	assert_int_equal(gpg_rules_decode("7a70bd896950779d54390f49bc37a6af3944af8c", 40, &got), -EBADMSG);
	assert_int_equal(gpg_rules_decode("not a keygrip, though it is as long as a", 40, &got), -EBADMSG);
	memset(many, '0', sizeof(many));
	assert_int_equal(gpg_rules_decode(many, sizeof(many), &got), -EBADMSG);
	assert_int_equal(gpg_rules_decode(many, sizeof(many) - GPG_GRIP_LEN, &got), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_named_keys),
		cmocka_unit_test(a_signature_needs_key_and_hash),
		cmocka_unit_test(no_weak_hash),
		cmocka_unit_test(the_rest_is_refused),
		cmocka_unit_test(wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
