/* sandbox.sshAgent: what is lent, whose host keys count, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"

/* One text a layer, from the administrator on; NULL: there is none. */
struct layers {
	const char *text[POLICY_LAYER_COUNT - 1];
};

static int load(const struct layers *layers, struct policy *ret, struct error *e)
{
	static const char *const paths[] = { "/etc/isod/policy.json", "/home/u/.config/isod/policy.json", "f.json",
					     "" };
	struct policy_input inputs[POLICY_LAYER_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(layers->text); i++)
		if (layers->text[i])
			inputs[n++] =
				(struct policy_input){ .layer = (enum policy_layer_kind)(POLICY_ADMINISTRATOR + i),
						       .path = paths[i],
						       .text = layers->text[i],
						       .len = strlen(layers->text[i]) };
	*e = (struct error)ERROR_INIT;
	return policy_load(inputs, n, ret, e);
}

static void must_load(const struct layers *layers, struct policy *ret)
{
	struct error e;

	if (load(layers, ret, &e) < 0)
		fail_msg("%s: %s", e.step, e.message);
}

#define SSH(members) "{\"sandbox\":{\"sshAgent\":{" members "}}}"
#define HOST_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB6vsfn2bkvuRUzmd4r6rNoXGWHxUIoNu5Fl2sXNlqG3"
#define OTHER_KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA1uNuGO8TurxPXhFGCEZ9sD4bkjFYnVsPNSFLZCX8DF"

static bool lends(const char *administrator, const char *user)
{
	const struct layers layers = { { administrator, user, NULL, NULL } };
	struct policy p;
	bool lent;

	must_load(&layers, &p);
	lent = policy_lends_ssh(&p);
	policy_done(&p);
	return lent;
}

static void ssh_is_lent_by_name(void **state)
{
	assert_false(lends(NULL, NULL));
	assert_false(lends(NULL, SSH("\"keys\":[\"me\"]")));
	assert_false(lends(NULL, SSH("\"gitSignatures\":true")));
	assert_false(lends(NULL, SSH("\"hosts\":[\"a.example\"]")));
	assert_true(lends(NULL, SSH("\"keys\":[\"me\"],\"hosts\":[\"a.example\"]")));
	assert_true(lends(NULL, SSH("\"keys\":[\"me\"],\"gitSignatures\":true")));
	assert_false(lends(SSH("\"gitSignatures\":false"), SSH("\"keys\":[\"me\"],\"gitSignatures\":true")));
	assert_false(lends(SSH("\"enabled\":false"), SSH("\"enabled\":true,\"keys\":[\"me\"],\"gitSignatures\":true")));
	assert_true(lends(SSH("\"gitSignatures\":true"), SSH("\"keys\":[\"me\"]")));
}

/* Keys of a host append, until the administrator says which they are. */
static void ssh_host_keys(void **state)
{
	const struct layers both = { { NULL, SSH("\"hostKeys\":{\"A.example:22\":[\"" HOST_KEY "\"]}"), NULL,
				       SSH("\"hostKeys\":{\"a.example\":[\"" OTHER_KEY "\"]}") } };
	const struct layers settled = { { SSH("\"hostKeys\":{\"a.example\":[\"" HOST_KEY "\"]}"), NULL, NULL,
					  SSH("\"hostKeys\":{\"a.example\":[\"" OTHER_KEY
					      "\"],\"b.example:2222\":[\"" OTHER_KEY "\"]}") } };
	struct policy p;

	must_load(&both, &p);
	assert_int_equal(p.n_ssh_host_keys, 2);
	assert_string_equal(p.ssh_host_keys[0].name, "a.example");
	policy_done(&p);
	must_load(&settled, &p);
	assert_int_equal(p.n_ssh_host_keys, 2);
	assert_string_equal(p.ssh_host_keys[0].value, HOST_KEY);
	assert_string_equal(p.ssh_host_keys[1].name, "b.example:2222");
	policy_done(&p);
}

static void ssh_refused(void **state)
{
	static const char *const texts[] = {
		SSH("\"keys\":[\"\"]"),
		SSH("\"keys\":[\"SHA256:short\"]"),
		SSH("\"keys\":[\"MD5:aa\"]"),
		SSH("\"keys\":\"me\""),
		SSH("\"hosts\":[\"a.example:0\"]"),
		SSH("\"hosts\":[\"a.example:22x\"]"),
		SSH("\"hosts\":[\"*.example\"]"),
		SSH("\"hosts\":[\"\"]"),
		SSH("\"hostKeys\":{\"a.example\":[\"ssh-ed25519 AAAA\"]}"),
		SSH("\"hostKeys\":{\"a.example\":\"" HOST_KEY "\"}"),
		SSH("\"hostKeys\":[]"),
		SSH("\"gitSignatures\":\"yes\""),
		SSH("\"agent\":true"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct layers layers = { { NULL, texts[i], NULL, NULL } };
		struct policy p;
		struct error e;

		if (load(&layers, &p, &e) >= 0 || e.code != ERROR_POLICY)
			fail_msg("taken: %s", texts[i]);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ssh_is_lent_by_name),
		cmocka_unit_test(ssh_host_keys),
		cmocka_unit_test(ssh_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
