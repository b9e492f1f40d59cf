/* Keys of hosts from known_hosts: plain, hashed, revoked, of unknown kinds, with ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/run/run_ssh.h"

#define A "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB6vsfn2bkvuRUzmd4r6rNoXGWHxUIoNu5Fl2sXNlqG3"
#define B "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIA1uNuGO8TurxPXhFGCEZ9sD4bkjFYnVsPNSFLZCX8DF"
#define HASHED "|1|vW2f9R4bRBF67DlTBvOtygMxLwc=|jZnfuawNkFlHzrMUY2c51D0qy0A=" /* git.example.com */

/* Two files; a text of NULL: there is none. */
static void check_both(const char *one, const char *two, const char *host, const char *wanted)
{
	_cleanup_buffer_ struct buffer got = BUFFER_INIT(1 << 16);
	const char *const texts[] = { one, two };
	char names[2][32] = { "/tmp/isod-known-hosts-XXXXXX", "/tmp/isod-known-hosts-XXXXXX" };
	const char *const paths[] = { names[0], names[1] };

	for (size_t i = 0; i < 2; i++) {
		_cleanup_close_ int fd = mkstemp(names[i]);

		assert_true(fd >= 0);
		if (texts[i])
			assert_int_equal(fd_write_full(fd, texts[i], strlen(texts[i])), 0);
		else
			unlink(names[i]);
	}
	assert_int_equal(run_ssh_host_keys(paths, 2, host, &got), 0);
	unlink(names[0]);
	unlink(names[1]);
	if (got.len != strlen(wanted) || (got.len > 0 && memcmp(got.data, wanted, got.len) != 0))
		fail_msg("%s, %s: %.*s", one, two ? two : "-", (int)got.len, got.data);
}

static void check(const char *text, const char *host, const char *wanted)
{
	check_both(text, NULL, host, wanted);
}

static void host_keys(void **state)
{
	check("", "git.example.com", "");
	check("git.example.com " A, "git.example.com", A "\n");
	check("git.example.com " A " a comment\r\n# " B "\n" HASHED " " B "\n", "git.example.com", A "\n" B "\n");
	check(HASHED " " A "\ngit.example.com " A "\n", "git.example.com", A "\n");
	check("[git.example.com]:2222 " A "\ngit.example.com " B "\n", "git.example.com:2222", A "\n");
	check("other.example.com " A "\n", "git.example.com", "");
	check("git.example.com ssh-dss AAAAB3NzaC1kc3M=\ngit.example.com rubbish\n", "git.example.com", "");
	check("@cert-authority *.example.com " A "\n", "git.example.com", "");
}

static void revoked_keys_do_not_count(void **state)
{
	check("git.example.com " A "\ngit.example.com " B "\n@revoked * " A "\n", "git.example.com", B "\n");
	check("@revoked git.example.com " A "\ngit.example.com " A " x\n", "git.example.com", "");
	check("@revoked other.example.com " A "\ngit.example.com " A "\n", "git.example.com", A "\n");
	/* Whichever of the files says so. */
	check_both("git.example.com " A "\ngit.example.com " B "\n", "@revoked * " A "\n", "git.example.com", B "\n");
	check_both("@revoked * " A "\n", "git.example.com " A "\ngit.example.com " B "\n", "git.example.com", B "\n");
}

static void no_file(void **state)
{
	_cleanup_buffer_ struct buffer got = BUFFER_INIT(1 << 16);

	assert_int_equal(run_ssh_host_keys((const char *const[]){ "/nonexistent", "/" }, 2, "git.example.com", &got),
			 0);
	assert_int_equal(got.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_keys),
		cmocka_unit_test(revoked_keys_do_not_count),
		cmocka_unit_test(no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
