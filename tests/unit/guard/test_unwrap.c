/* guard/unwrap*: what programs that run others would run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "tests/unit/guard/explained.h"

/* Lines that run "git push" by way of others. */
static const char *const pushes[] = {
	"/usr/bin/env git push",
	"timeout -k 1 5 git push",
	"timeout --sig KILL --kill-after=3 5 git push",
	"nice -n 5 git push",
	"nohup git push",
	"setsid -w git push",
	"stdbuf -oL git push",
	"command git push",
	"builtin command -p git push",
	"exec -a x git push",
	"time -f %e git push",
	"sudo -u x -g y A=1 B=\"$b\" git push",
	"doas -u x git push",
	"env -S 'git push'",
	"env -i -u X PATH=\"$PATH\" git push",
	"ionice -c 3 git push",
	"chrt 1 git push",
	"taskset 1 git push",
	"unshare -n git push",
	"find . -maxdepth 0 -exec git push \\;",
	"find . -execdir sh -c 'git push' {} +",
	"flock -w 1 f git push",
	"flock f -c 'git push'",
	"su x -c 'git push'",
	"runuser -u x -- git push",
	"script -qc 'git push' /dev/null",
	"bash -lc 'git push'",
	"sh -eu -o pipefail -c 'git push' x y",
	"bash --norc -c 'git push'",
	"zsh -c \"git push\"",
	"eval git 'push'",
	"eval 'eval \"git push\"'",
	"bash <<< 'git push'",
	"bash -s <<E\ngit push\nE",
	". /dev/stdin <<< 'git push'",
	"trap 'git push' EXIT",
	"busybox sh -c 'git push'",
	"watch -n 1 git push",
	"ssh -p 22 host git push",
	"parallel -j2 ::: 'git push' x",
	"python3 -c 'import subprocess;subprocess.run([\"git\",\"push\"], check=True)'",
	"python3.11 -c 'import os;os.system(\"git push\")'",
	"python -c 'os.execvp(\"git\", [\"git\", \"push\"])'",
	"python3 - <<E\nimport os\nos.popen('git push')\nE",
	"perl -e 'system(\"git\",\"push\")'",
	"perl -e 'system \"git push\"'",
	"ruby -e 'system(\"git push\")'",
	"node -e 'require(\"child_process\").execSync(\"git push\")'",
	"node --eval='require(\"child_process\").spawnSync(\"git\", [\"push\"])'",
	"awk 'BEGIN{system(\"git push\")}'",
	"python3 -I -E -c 'import os;os.system(\"git push\")'",
	"perl -p -e 'system \"git push\"'",
	"strace -k -o f git push",
	"nsenter -t 1 -r git push",
	"fakeroot -u git push",
	"sudo env nice -n 1 bash -c 'timeout 5 git push'",
};

static void test_what_is_run_is_found(void **state)
{
	for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
		const char *found = explained(pushes[i], true);
		/* at the begin of a line, and with something around it */
		const char *at = strstr(found, "\n[git][push]");

		if (!at)
			fail_msg("%s: %s", pushes[i], found);
		assert_null(strstr(found, "error"));
	}
}

/* What runs something that the line does not say. */
static const char *const unknown[] = { "echo git push | sh",
				       "sh -c \"$x\"",
				       "eval $x",
				       "bash <(echo git push)",
				       "sh < x",
				       "f() { sh; }; echo x | f",
				       "{ bash; } < x",
				       "source <(x)",
				       "sudo $x",
				       "python3 -c \"$x\"",
				       "xargs sh -c",
				       "parallel < x",
				       "python3 -c 'os.system(x)'",
				       "bash $x" };
static const char *const known[] = { "sh x.sh",
				     "bash",
				     "python3 x.py",
				     "command -v git",
				     "find . -name x -delete",
				     "echo 'git push'",
				     "grep -r \"git push\" .",
				     "cat <<'E'\n$(git push)\nE",
				     "git commit -m 'git push'",
				     "trap - EXIT",
				     "sudo -l",
				     "awk '{print $1}' f" };

static void test_what_is_not_known_is_said(void **state)
{
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		const char *found = explained(unknown[i], true);

		if (!strstr(found, "\n[?]") && !strstr(found, "[?]*"))
			fail_msg("%s: %s", unknown[i], found);
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const char *found = explained(known[i], true);

		if (strstr(found, "[?]") || strstr(found, "[git][push]") || strstr(found, "error"))
			fail_msg("%s: %s", known[i], found);
	}
}

static void test_texts_that_cannot_be_read(void **state)
{
	assert_string_equal(explained("sh -c 'git push; )'", true),
			    "[sh][-c][git push; )]\n[git][push] sh -c\n[?]* sh -c\nerror");
	assert_non_null(strstr(explained("sh -c \"sh -c 'sh -c \\\"a\\\"'\"", true), "[a] sh -c sh -c sh -c\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_run_is_found),
		cmocka_unit_test(test_what_is_not_known_is_said),
		cmocka_unit_test(test_texts_that_cannot_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
