/* Frames, requests, answers, and what is signed: every cut and every spare byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "sshagent/ssh_signed.h"
#include "tests/unit/guard_page.h"
#include "tests/unit/sshagent/ssh_made.h"

#define MAX 4096

static void frames(void **state)
{
	const uint8_t one[] = { 0, 0, 0, 1, 11, 9 }, none[] = { 0, 0, 0, 0 }, long_one[] = { 0, 0, 1, 0 };
	const uint8_t largest[] = { 0xff, 0xff, 0xff, 0xff, 1 };

	for (size_t i = 0; i < 5; i++) {
		struct guard_page page = guard_page_new(one, i);

		assert_int_equal(ssh_frame_size((uint8_t *)page.data, i, 16), 0);
		guard_page_done(&page);
	}
	assert_int_equal(ssh_frame_size(one, 5, 16), 5);
	assert_int_equal(ssh_frame_size(one, 6, 16), 5);
	assert_int_equal(ssh_frame_size(none, 4, 16), -EMSGSIZE);
	assert_int_equal(ssh_frame_size(long_one, 4, 255), -EMSGSIZE);
	assert_int_equal(ssh_frame_size(long_one, 4, 256), 0);
	assert_int_equal(ssh_frame_size(largest, 5, LIMIT_SSH_REQUEST), -EMSGSIZE);
}

/* A request that is served is well-formed as a whole or not at all. */
static void check_cuts(const struct buffer *b, enum ssh_request_kind kind)
{
	struct ssh_request q;
	char spare[MAX];

	for (size_t i = 0; i <= b->len; i++) {
		struct guard_page page = guard_page_new(b->data, i);
		int r = ssh_request_parse((struct ssh_span){ (uint8_t *)page.data, i }, &q);

		if (i == b->len && (r != 0 || q.kind != kind))
			fail_msg("whole: %d, kind %d", r, q.kind);
		else if (i < b->len && r == 0 && q.kind == kind)
			fail_msg("cut to %zu: taken", i);
		guard_page_done(&page);
	}
	memcpy(spare, b->data, b->len);
	spare[b->len] = 0;
	assert_int_equal(ssh_request_parse((struct ssh_span){ (uint8_t *)spare, b->len + 1 }, &q), -EBADMSG);
}

static void requests(void **state)
{
	_cleanup_buffer_ struct buffer list = BUFFER_INIT(MAX), sign = BUFFER_INIT(MAX), bind = BUFFER_INIT(MAX);
	struct ssh_request q;

	buffer_append_u8(&list, SSH_AGENT_LIST);
	check_cuts(&list, SSH_REQUEST_LIST);
	buffer_append_u8(&sign, SSH_AGENT_SIGN);
	put(&sign, "key");
	put(&sign, "data");
	ssh_write_u32(&sign, 4);
	check_cuts(&sign, SSH_REQUEST_SIGN);
	ssh_request_parse(span_of_buffer(&sign), &q);
	assert_true(ssh_span_is(q.key, "key") && ssh_span_is(q.data, "data") && q.flags == 4);
	buffer_append_u8(&bind, SSH_AGENT_EXTENSION);
	put(&bind, "session-bind@openssh.com");
	put(&bind, "host key");
	put(&bind, "id");
	put(&bind, "proof");
	buffer_append_u8(&bind, 1);
	check_cuts(&bind, SSH_REQUEST_BIND);
	ssh_request_parse(span_of_buffer(&bind), &q);
	assert_true(ssh_span_is(q.session_id, "id") && ssh_span_is(q.signature, "proof") && q.forwarding);
}

static void others(void **state)
{
	_cleanup_buffer_ struct buffer query = BUFFER_INIT(MAX);
	struct ssh_request q;

	for (unsigned type = 0; type < 256; type++) {
		const uint8_t body[] = { (uint8_t)type, 0, 0 };

		if (type == SSH_AGENT_LIST || type == SSH_AGENT_SIGN || type == SSH_AGENT_EXTENSION)
			continue;
		assert_int_equal(ssh_request_parse((struct ssh_span){ body, sizeof(body) }, &q), 0);
		assert_int_equal(q.kind, SSH_REQUEST_OTHER);
	}
	buffer_append_u8(&query, SSH_AGENT_EXTENSION);
	put(&query, "query");
	assert_int_equal(ssh_request_parse(span_of_buffer(&query), &q), 0);
	assert_int_equal(q.kind, SSH_REQUEST_OTHER);
}

static int count_identities(struct ssh_span body)
{
	struct ssh_span key, comment;
	struct ssh_identities i;
	int n = 0, r = ssh_identities_begin(body, &i);

	while (r == 0 && (r = ssh_identities_next(&i, &key, &comment)) > 0) {
		n++;
		r = 0;
		if (i.left == 0 && ssh_read_end(&i.rest))
			return n;
	}
	return r < 0 ? r : n;
}

static void answers(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(MAX), many = BUFFER_INIT(MAX), signature = BUFFER_INIT(MAX);

	buffer_append_u8(&b, SSH_AGENT_IDENTITIES);
	ssh_write_u32(&b, 2);
	put(&b, "a key");
	put(&b, "comment");
	put(&b, "");
	put(&b, "");
	assert_int_equal(count_identities(span_of_buffer(&b)), 2);
	for (size_t i = 0; i < b.len; i++) {
		struct guard_page page = guard_page_new(b.data, i);

		assert_int_equal(count_identities((struct ssh_span){ (uint8_t *)page.data, i }), -EBADMSG);
		guard_page_done(&page);
	}
	buffer_append_u8(&many, SSH_AGENT_IDENTITIES);
	ssh_write_u32(&many, SSH_IDENTITIES_MAX + 1);
	assert_int_equal(count_identities(span_of_buffer(&many)), -EBADMSG);
	buffer_append_u8(&signature, SSH_AGENT_SIGNATURE);
	put(&signature, "bytes");
	assert_true(ssh_signature_is_valid(span_of_buffer(&signature)));
	buffer_append_u8(&signature, 0);
	assert_false(ssh_signature_is_valid(span_of_buffer(&signature)));
}

static enum ssh_signed_kind kind_of(const struct buffer *b, size_t len)
{
	struct guard_page page = guard_page_new(b->data, len);
	struct ssh_signed s;

	ssh_signed_parse((struct ssh_span){ (uint8_t *)page.data, len }, &s);
	guard_page_done(&page);
	return s.kind;
}

static void check_signed(struct buffer *b, enum ssh_signed_kind kind)
{
	for (size_t i = 0; i < b->len; i++)
		if (kind_of(b, i) != SSH_SIGNED_OTHER)
			fail_msg("cut to %zu: taken", i);
	assert_int_equal(kind_of(b, b->len), kind);
	buffer_append_u8(b, 0);
	assert_int_equal(kind_of(b, b->len), SSH_SIGNED_OTHER);
}

static void signed_data(void **state)
{
	static const struct {
		const char *name, *algorithm;
		size_t hash;
		enum ssh_signed_kind kind;
	} cases[] = {
		{ "git", "sha512", 64, SSH_SIGNED_SIGNATURE },  { "git", "sha256", 32, SSH_SIGNED_SIGNATURE },
		{ "file", "sha256", 32, SSH_SIGNED_SIGNATURE }, { "git", "sha512", 32, SSH_SIGNED_OTHER },
		{ "git", "sha1", 20, SSH_SIGNED_OTHER },        { "", "sha512", 64, SSH_SIGNED_OTHER },
	};
	_cleanup_buffer_ struct buffer plain = BUFFER_INIT(MAX), bound = BUFFER_INIT(MAX), other = BUFFER_INIT(MAX);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buffer_ struct buffer b = BUFFER_INIT(MAX);

		put_signature(&b, cases[i].name, cases[i].algorithm, cases[i].hash);
		check_signed(&b, cases[i].kind);
	}
	put_login(&plain, "session", "publickey", "key", NULL);
	check_signed(&plain, SSH_SIGNED_LOGIN);
	put_login(&bound, "session", "publickey-hostbound-v00@openssh.com", "key", "host key");
	check_signed(&bound, SSH_SIGNED_LOGIN);
	put_login(&other, "session", "hostbased", "key", NULL);
	check_signed(&other, SSH_SIGNED_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames),  cmocka_unit_test(requests),    cmocka_unit_test(others),
		cmocka_unit_test(answers), cmocka_unit_test(signed_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
