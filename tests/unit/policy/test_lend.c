/* What lends something of the host's or the user's: not by a file of --policy, which may still take it away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"

#define NETWORK(text) "{\"sandbox\":{\"network\":{" text "}}}"
#define SSH(text) "{\"sandbox\":{\"sshAgent\":{" text "}}}"
#define GPG(text) "{\"sandbox\":{\"gpgAgent\":{" text "}}}"
#define GRIP "7A70BD896950779D54390F49BC37A6AF3944AF8C"
#define KEY "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEJJpFbcrDnXpC2ZSBxS4nYMmHEL3fPpGfwqRbXdjI5H"

static int load(enum policy_layer_kind layer, const char *text, struct policy *ret, struct error *e)
{
	const struct policy_input input = { layer, "f.json", text, strlen(text) };

	return policy_load(&input, 1, ret, e);
}

static void a_file_lends_nothing(void **state)
{
	static const struct {
		const char *text, *key, *option;
	} cases[] = {
		{ NETWORK("\"hostPorts\":[5432]"), "network.hostPorts", "--host-port" },
		{ NETWORK("\"allowUnixSockets\":[\"/run/x\"]"), "network.allowUnixSockets", "--unix-socket" },
		{ NETWORK("\"publish\":[8000]"), "network.publish", "--publish" },
		{ GPG("\"keys\":[\"" GRIP "\"]"), "gpgAgent.keys", "" },
		{ GPG("\"enabled\":true"), "gpgAgent.enabled", "" },
		{ SSH("\"keys\":[\"me\"]"), "sshAgent.keys", "" },
		{ SSH("\"hosts\":[\"git.example\"]"), "sshAgent.hosts", "" },
		{ SSH("\"hostKeys\":{\"git.example\":[\"" KEY "\"]}"), "sshAgent.hostKeys", "" },
		{ SSH("\"gitSignatures\":true"), "sshAgent.gitSignatures", "" },
		{ SSH("\"hostbound\":false"), "sshAgent.hostbound", "" },
		{ SSH("\"enabled\":true"), "sshAgent.enabled", "" },
		{ "{\"sandbox\":{\"filesystem\":{\"devices\":[\"/dev/dri\"]}}}", "filesystem.devices", "" },
		/* What has another type lends nothing, and is refused all the same. */
		{ NETWORK("\"hostPorts\":5432"), "network.hostPorts", "" },
	};
	static const enum policy_layer_kind lenders[] = { POLICY_ADMINISTRATOR, POLICY_USER, POLICY_COMMAND_LINE };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;
		struct policy p;

		if (load(POLICY_FILE, cases[i].text, &p, &e) >= 0)
			fail_msg("%s was taken", cases[i].text);
		assert_int_equal(e.code, ERROR_POLICY);
		if (!strstr(e.step, cases[i].key) || !strstr(e.message, "cannot lend") ||
		    !strstr(e.remedy, "~/.config/isod/policy.json") || !strstr(e.remedy, cases[i].option))
			fail_msg("%s: %s | %s | %s", cases[i].text, e.step, e.message, e.remedy);
		policy_done(&p);
		for (size_t k = 0; k < ARRAY_SIZE(lenders) && i + 1 < ARRAY_SIZE(cases); k++) {
			e = (struct error)ERROR_INIT;
			if (load(lenders[k], cases[i].text, &p, &e) < 0)
				fail_msg("%s: %s %s", cases[i].text, e.step, e.message);
			policy_done(&p);
		}
	}
}

/* By its bytes: isoctl has looked them up. */
static void a_trusted_file_lends(void **state)
{
	static const char text[] = NETWORK("\"hostPorts\":[5432]"), learn[] = NETWORK("\"onUnlisted\":\"learn\"");
	struct policy_input input = { POLICY_FILE, "f.json", text, strlen(text), .trusted = true };
	struct error e = ERROR_INIT;
	struct policy p;

	assert_int_equal(policy_load(&input, 1, &p, &e), 0);
	assert_int_equal(p.host_ports.count, 1);
	policy_done(&p);
	/* That opens the network is said where it is done. */
	input.text = learn;
	input.len = strlen(learn);
	assert_true(policy_load(&input, 1, &p, &e) < 0);
	policy_done(&p);
}

static void a_file_takes_away(void **state)
{
	static const char *const texts[] = {
		NETWORK("\"hostPorts\":[]"), NETWORK("\"allowUnixSockets\":[]"),
		NETWORK("\"publish\":[]"),   GPG("\"enabled\":false"),
		GPG("\"keys\":[]"),          SSH("\"hostKeys\":{}"),
		SSH("\"enabled\":false"),    SSH("\"gitSignatures\":false"),
		SSH("\"hostbound\":true"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error e = ERROR_INIT;
		struct policy p;

		if (load(POLICY_FILE, texts[i], &p, &e) < 0)
			fail_msg("%s: %s %s", texts[i], e.step, e.message);
		policy_done(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_lends_nothing),
		cmocka_unit_test(a_trusted_file_lends),
		cmocka_unit_test(a_file_takes_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
