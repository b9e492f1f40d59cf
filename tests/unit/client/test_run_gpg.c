/* Where gpg-agent has its restricted socket; the names were told by gpgconf --list-dirs agent-extra-socket. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "client/run/run_gpg.h"

static void places(void **state)
{
	static const struct {
		const char *gnupghome;
		const char *first, *last;
	} cases[] = {
		{ NULL, "/run/user/7/gnupg/S.gpg-agent.extra", "/home/u/.gnupg/S.gpg-agent.extra" },
		{ "", "/run/user/7/gnupg/S.gpg-agent.extra", "/home/u/.gnupg/S.gpg-agent.extra" },
		{ "/home/u/.gnupg/", "/run/user/7/gnupg/S.gpg-agent.extra", "/home/u/.gnupg/S.gpg-agent.extra" },
		{ "/tmp/some/home", "/run/user/7/gnupg/d.j18psbhk4dg4c7eapmc6m9ca/S.gpg-agent.extra",
		  "/tmp/some/home/S.gpg-agent.extra" },
		{ "/tmp/some/home//", "/run/user/7/gnupg/d.j18psbhk4dg4c7eapmc6m9ca/S.gpg-agent.extra",
		  "/tmp/some/home/S.gpg-agent.extra" },
	};
	char got[108];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(run_gpg_socket(0, 7, "/home/u", cases[i].gnupghome, got, sizeof(got)));
		assert_string_equal(got, cases[i].first);
		assert_true(run_gpg_socket(2, 7, "/home/u", cases[i].gnupghome, got, sizeof(got)));
		assert_string_equal(got, cases[i].last);
		assert_false(run_gpg_socket(3, 7, "/home/u", cases[i].gnupghome, got, sizeof(got)));
	}
	assert_true(run_gpg_socket(1, 7, "/home/u", NULL, got, sizeof(got)));
	assert_string_equal(got, "/run/gnupg/user/7/gnupg/S.gpg-agent.extra");
	/* Too long for a socket: nothing else is tried in its place. */
	assert_false(run_gpg_socket(0, 7, "/home/u", NULL, got, 20));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
