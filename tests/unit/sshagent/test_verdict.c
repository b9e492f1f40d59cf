/* Who may sign what: binds, logins, signatures; the wire form of the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "sshagent/ssh_verdict.h"
#include "tests/unit/guard_page.h"
#include "tests/unit/sshagent/ssh_made.h"

#define MAX 8192
#define HOSTBOUND "publickey-hostbound-v00@openssh.com"

static const char *const keys[] = { "SHA256:abc", "me@here" };
static const struct ssh_host_key hosts[] = {
	{ "git.example.com", { (const uint8_t *)"H1", 2 } },
	{ "other.example.com", { (const uint8_t *)"H2", 2 } },
};
static const struct ssh_rules rules = {
	.git_signatures = true, .keys = keys, .n_keys = 2, .host_keys = hosts, .n_host_keys = 2
};

/* A proof is good where it is the host's name for the session. */
static bool verify(struct ssh_span key, struct ssh_span signature, struct ssh_span data)
{
	return ssh_span_is(signature, "good");
}

static enum ssh_reason bind_to(struct ssh_bound *b, const char *key, const char *session, const char *proof,
			       bool forwarding)
{
	struct ssh_request q = { .kind = SSH_REQUEST_BIND,
				 .key = span_of(key),
				 .session_id = span_of(session),
				 .signature = span_of(proof),
				 .forwarding = forwarding };
	const char *target;

	return ssh_verdict_bind(&rules, b, &q, verify, &target);
}

static enum ssh_reason login(const struct ssh_bound *b, const char *session, const char *method, const char *key,
			     const char *host_key, bool named)
{
	_cleanup_buffer_ struct buffer data = BUFFER_INIT(MAX);
	char target[SSH_TARGET_MAX];
	struct ssh_request q = { .kind = SSH_REQUEST_SIGN, .key = span_of("key") };

	put_login(&data, session, method, key, host_key);
	q.data = span_of_buffer(&data);
	return ssh_verdict_sign(&rules, b, &q, named, target);
}

static enum ssh_reason sign(const struct ssh_rules *by, const struct ssh_bound *b, const char *name, uint32_t flags,
			    bool named)
{
	_cleanup_buffer_ struct buffer data = BUFFER_INIT(MAX);
	char target[SSH_TARGET_MAX];
	struct ssh_request q = { .kind = SSH_REQUEST_SIGN, .key = span_of("key"), .flags = flags };
	enum ssh_reason reason;

	put_signature(&data, name, "sha512", 64);
	q.data = span_of_buffer(&data);
	reason = ssh_verdict_sign(by, b, &q, named, target);
	assert_string_equal(target, name);
	return reason;
}

static void logins(void **state)
{
	struct ssh_bound b = { .state = SSH_UNBOUND };

	assert_int_equal(login(&b, "S", "publickey", "key", NULL, true), SSH_NOT_BOUND);
	assert_int_equal(bind_to(&b, "H1", "S", "bad", false), SSH_BAD_PROOF);
	assert_int_equal(login(&b, "S", "publickey", "key", NULL, true), SSH_NOT_BOUND);
	assert_int_equal(bind_to(&b, "H1", "S", "good", false), SSH_ALLOWED);
	assert_int_equal(login(&b, "S", "publickey", "key", NULL, true), SSH_ALLOWED);
	assert_int_equal(login(&b, "S", HOSTBOUND, "key", "H1", true), SSH_ALLOWED);
	assert_int_equal(login(&b, "S", HOSTBOUND, "key", "H2", true), SSH_NOT_BOUND);
	assert_int_equal(login(&b, "T", "publickey", "key", NULL, true), SSH_NOT_BOUND);
	assert_int_equal(login(&b, "S", "publickey", "another", NULL, true), SSH_NOT_RECOGNISED);
	assert_int_equal(login(&b, "S", "publickey", "key", NULL, false), SSH_KEY_NOT_NAMED);
	assert_int_equal(bind_to(&b, "H1", "S", "good", false), SSH_ALLOWED);
	assert_int_equal(bind_to(&b, "H1", "T", "good", false), SSH_BOUND_ALREADY);
	assert_int_equal(bind_to(&b, "H2", "S", "good", false), SSH_BOUND_ALREADY);
	assert_int_equal(login(&b, "S", "publickey", "key", NULL, true), SSH_ALLOWED);
}

static void binds_for_good(void **state)
{
	struct ssh_bound elsewhere = { .state = SSH_UNBOUND }, forwarded = { .state = SSH_UNBOUND };
	char long_id[SSH_SESSION_ID_MAX + 2];

	assert_int_equal(bind_to(&elsewhere, "H3", "S", "good", false), SSH_HOST_NOT_NAMED);
	assert_int_equal(login(&elsewhere, "S", "publickey", "key", NULL, true), SSH_HOST_NOT_NAMED);
	assert_int_equal(bind_to(&elsewhere, "H1", "S", "good", false), SSH_HOST_NOT_NAMED);
	assert_int_equal(login(&elsewhere, "S", "publickey", "key", NULL, true), SSH_HOST_NOT_NAMED);

	memset(long_id, 'x', sizeof(long_id));
	long_id[sizeof(long_id) - 1] = '\0';
	assert_int_equal(bind_to(&forwarded, "H1", long_id, "good", false), SSH_BAD_PROOF);
	assert_int_equal(bind_to(&forwarded, "H1", "", "good", false), SSH_BAD_PROOF);
	assert_int_equal(bind_to(&forwarded, "H1", "S", "good", false), SSH_ALLOWED);
	assert_int_equal(bind_to(&forwarded, "H1", "S", "good", true), SSH_FORWARDED);
	assert_int_equal(bind_to(&forwarded, "H1", "S", "good", false), SSH_FORWARDED);
	assert_int_equal(login(&forwarded, "S", "publickey", "key", NULL, true), SSH_FORWARDED);
	assert_int_equal(sign(&rules, &forwarded, "git", 0, true), SSH_FORWARDED);
}

static void signatures(void **state)
{
	struct ssh_rules no_git = rules;
	struct ssh_bound b = { .state = SSH_UNBOUND };

	no_git.git_signatures = false;
	assert_int_equal(sign(&rules, &b, "git", 0, true), SSH_ALLOWED);
	assert_int_equal(sign(&rules, &b, "git", 4, true), SSH_ALLOWED);
	assert_int_equal(sign(&rules, &b, "git", 8, true), SSH_NOT_RECOGNISED);
	assert_int_equal(sign(&rules, &b, "git", 0, false), SSH_KEY_NOT_NAMED);
	assert_int_equal(sign(&rules, &b, "file", 0, true), SSH_NAMESPACE);
	assert_int_equal(sign(&rules, &b, "git2", 0, true), SSH_NAMESPACE);
	assert_int_equal(sign(&rules, &b, "Git", 0, true), SSH_NAMESPACE);
	assert_int_equal(sign(&no_git, &b, "git", 0, true), SSH_NAMESPACE);
}

static void hostbound_where_it_is_wanted(void **state)
{
	_cleanup_buffer_ struct buffer plain = BUFFER_INIT(MAX), bound = BUFFER_INIT(MAX);
	struct ssh_rules strict = rules;
	struct ssh_bound b = { .state = SSH_UNBOUND };
	char target[SSH_TARGET_MAX];
	struct ssh_request q = { .kind = SSH_REQUEST_SIGN, .key = span_of("key") };

	strict.hostbound = true;
	assert_int_equal(bind_to(&b, "H1", "S", "good", false), SSH_ALLOWED);
	put_login(&plain, "S", "publickey", "key", NULL);
	put_login(&bound, "S", HOSTBOUND, "key", "H1");
	q.data = span_of_buffer(&plain);
	assert_int_equal(ssh_verdict_sign(&rules, &b, &q, true, target), SSH_ALLOWED);
	assert_int_equal(ssh_verdict_sign(&strict, &b, &q, true, target), SSH_NOT_HOSTBOUND);
	q.data = span_of_buffer(&bound);
	assert_int_equal(ssh_verdict_sign(&strict, &b, &q, true, target), SSH_ALLOWED);
}

static void no_sha1_with_rsa(void **state)
{
	static const char *const types[] = { "ssh-rsa", "ssh-rsa-cert-v01@openssh.com", "ssh-ed25519" };
	_cleanup_buffer_ struct buffer data = BUFFER_INIT(MAX);
	struct ssh_bound b = { .state = SSH_UNBOUND };
	char target[SSH_TARGET_MAX];

	put_signature(&data, "git", "sha512", 64);
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		_cleanup_buffer_ struct buffer key = BUFFER_INIT(MAX);
		struct ssh_request q = { .kind = SSH_REQUEST_SIGN, .data = span_of_buffer(&data) };

		assert_int_equal(ssh_write_string(&key, span_of(types[i])), 0);
		assert_int_equal(ssh_write_string(&key, span_of("the rest")), 0);
		q.key = span_of_buffer(&key);
		assert_int_equal(ssh_verdict_sign(&rules, &b, &q, true, target), i < 2 ? SSH_WEAK_HASH : SSH_ALLOWED);
		assert_int_equal(ssh_verdict_sign(&rules, &b, &q, false, target), SSH_KEY_NOT_NAMED);
		for (q.flags = 2; q.flags <= 4; q.flags += 2)
			assert_int_equal(ssh_verdict_sign(&rules, &b, &q, true, target), SSH_ALLOWED);
	}
}

static void raw_bytes(void **state)
{
	static const char *const texts[] = { "", "x", "tree 1234\nauthor me", "SSHSIG", "SSHSI" };
	struct ssh_bound b = { .state = SSH_UNBOUND };
	char target[SSH_TARGET_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct ssh_request q = { .kind = SSH_REQUEST_SIGN, .key = span_of("key"), .data = span_of(texts[i]) };

		assert_int_equal(ssh_verdict_sign(&rules, &b, &q, true, target), SSH_NOT_RECOGNISED);
		assert_string_equal(target, "");
	}
}

static void named_keys(void **state)
{
	assert_true(ssh_rules_name_key(&rules, "SHA256:abc", span_of("")));
	assert_true(ssh_rules_name_key(&rules, "SHA256:x", span_of("me@here")));
	assert_false(ssh_rules_name_key(&rules, "SHA256:ab", span_of("me@her")));
	/* A comment is the agent's to choose: it does not stand for a fingerprint. */
	assert_false(ssh_rules_name_key(&rules, "SHA256:x", span_of("SHA256:abc")));
	assert_false(ssh_rules_name_key(&rules, "", span_of("")));
}

static void wire(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(MAX);
	_cleanup_free_ void *block = NULL, *again = NULL;
	void *none = NULL;
	struct ssh_rules got, many = { .n_keys = LIMIT_SSH_KEYS + 1 };

	assert_int_equal(ssh_rules_encode(&rules, &b), 0);
	for (size_t i = 0; i < b.len; i++) {
		struct guard_page page = guard_page_new(b.data, i);

		assert_int_equal(ssh_rules_decode(page.data, i, &got, &none), -EBADMSG);
		assert_null(none);
		guard_page_done(&page);
	}
	assert_int_equal(ssh_rules_decode(b.data, b.len, &got, &block), 0);
	assert_true(got.git_signatures && !got.hostbound && got.n_keys == 2 && got.n_host_keys == 2);
	assert_string_equal(got.keys[1], "me@here");
	assert_string_equal(ssh_rules_host_of(&got, span_of("H2")), "other.example.com");
	assert_null(ssh_rules_host_of(&got, span_of("H")));
	b.data[4] = 2; /* hostbound alone */
	assert_int_equal(ssh_rules_decode(b.data, b.len, &got, &again), 0);
	assert_true(got.hostbound && !got.git_signatures);
	b.data[4] = 4;
	assert_int_equal(ssh_rules_decode(b.data, b.len, &got, &none), -EBADMSG);
	assert_int_equal(ssh_rules_encode(&many, &b), -EMSGSIZE);
	for (unsigned i = 0; i < SSH_REASON_COUNT; i++)
		assert_string_not_equal(ssh_reason_name(i), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logins),           cmocka_unit_test(binds_for_good),
		cmocka_unit_test(signatures),       cmocka_unit_test(hostbound_where_it_is_wanted),
		cmocka_unit_test(no_sha1_with_rsa), cmocka_unit_test(raw_bytes),
		cmocka_unit_test(named_keys),       cmocka_unit_test(wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
