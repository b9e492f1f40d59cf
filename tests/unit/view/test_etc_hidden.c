#include "view/etc_hidden.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"

static void names_and_what_is_in_them(void **state)
{
	static const struct {
		const char *path;
		bool hidden;
	} cases[] = {
		{ "/etc/shadow", true },
		{ "/etc/shadow/x", true },
		{ "/etc/shadows", false },
		{ "/etc/ssl/private/key.pem", true },
		{ "/etc/ssl/certs/x.pem", false },
		{ "/etc/ssl", false },
		{ "/etc/ssh/ssh_host_other_key", true },
		{ "/etc/ssh/ssh_host_other_key.pub", false },
		{ "/etc/ssh/ssh_config", false },
		{ "/etc/nginx/.htpasswd", true },
		{ "/etc", false },
		{ "/etc/", false },
		{ "/", false },
		{ "/usr/etc/shadow", false },
		{ "/etcetera/shadow", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (etc_hidden_holds(cases[i].path) != cases[i].hidden)
			fail_msg("%s", cases[i].path);
	for (size_t i = 0; i < n_etc_hidden_names; i++) {
		char path[LIMIT_PATH];

		snprintf(path, sizeof(path), "/etc/%s/deep/below", etc_hidden_names[i]);
		assert_true(etc_hidden_holds(path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(names_and_what_is_in_them) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
