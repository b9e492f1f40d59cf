/* Files that appear after the start, with the real isod-launch: opens that are refused, folders that are watched. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/exit_kind.h"
#include "base/fd.h"
#include "daemon/wire/late.h"
#include "view/protect.h"
#include "tests/unit/launch/driver.h"

#define SHELL(script) ((const char *const[]){ "/bin/sh", "-c", script, NULL })
#define BUILT_IN PATH_RULE_BUILT_IN

static struct path_rule rules[] = {
	{ PATH_ALLOW_WRITE, 0, 0, NULL },
	{ PATH_DENY_READ, BUILT_IN | PATH_RULE_FILES_ONLY, PROTECT_DOTENV, "/**/.env" },
	{ PATH_DENY_READ, BUILT_IN | PATH_RULE_FILES_ONLY, PROTECT_KEYS, "/**/*.pem" },
	{ PATH_DENY_WRITE, BUILT_IN, PROTECT_GIT_HOOKS, "/**/.git/hooks" },
	{ PATH_DENY_WRITE, BUILT_IN, PROTECT_EDITOR_SETTINGS, "/**/.vscode" },
	{ PATH_DENY_WRITE, BUILT_IN, PROTECT_DIRENV, "/**/.envrc" },
};

static void init(struct driver *d, const char *const *argv)
{
	driver_init(d, argv);
	rules[0].pattern = d->project;
	d->plan.rules = rules;
	d->plan.n_rules = sizeof(rules) / sizeof(rules[0]);
}

static void start(struct driver *d)
{
	struct link_message message;

	driver_start(d);
	if (driver_report(d) != 0)
		fail_msg("%s: %s", d->error.step, d->error.message);
	driver_link(d, LINK_STARTED, &message);
}

static void expect(struct driver *d, const char *word)
{
	size_t len = strlen(d->text);

	while (!strstr(d->text, word)) {
		ssize_t n = read(d->output, d->text + len, sizeof(d->text) - 1 - len);

		if (n <= 0)
			fail_msg("no \"%s\" in \"%s\"", word, d->text);
		len += (size_t)n;
		d->text[len] = '\0';
	}
}

static void go_on(struct driver *d)
{
	d->text[0] = '\0';
	assert_int_equal(write(d->input, "\n", 1), 1);
}

static void finish(struct driver *d, int code)
{
	struct link_message message;

	d->input = fd_close(d->input);
	driver_link(d, LINK_EXITED, &message);
	assert_int_equal(message.kind, EXIT_KIND_CODE);
	assert_int_equal(message.value, code);
	driver_done(d);
}

static void on_host(struct driver *d, const char *name, const char *text)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", d->project, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	fd_close(fd);
}

static void folder_on_host(struct driver *d, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", d->project, name);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chmod(path, 0777), 0);
}

static void rename_on_host(struct driver *d, const char *from, const char *to)
{
	char a[256], b[256];

	snprintf(a, sizeof(a), "%s/%s", d->project, from);
	snprintf(b, sizeof(b), "%s/%s", d->project, to);
	assert_int_equal(rename(a, b), 0);
}

static bool told(const struct driver *d, const char *kind, unsigned group, const char *who, const char *name)
{
	char line[256];

	snprintf(line, sizeof(line), "%s %u %s %s/%s\n", kind, group, who, d->project, name);
	return strstr(d->late, line) != NULL;
}

#define assert_told(d, kind, group, who, name)                                                                         \
	do {                                                                                                           \
		if (!told(d, kind, group, who, name))                                                                  \
			fail_msg("not told: %s %s, but:\n%s", kind, name, (d)->late);                                  \
	} while (0)

static void a_secret_made_on_the_host_cannot_be_read(void **state)
{
	struct driver d;

	init(&d, SHELL("mkdir sub; echo ready; read x; cat sub/.env; cat < plain; read x; cat sub/.env a.pem; exit 3"));
	start(&d);
	assert_non_null(strstr(d.late, "STATE 2 0\n"));
	expect(&d, "ready");
	on_host(&d, "sub/.env", "SECRET\n");
	on_host(&d, "plain", "PLAIN\n");
	on_host(&d, "new", "SECRET\n");
	on_host(&d, "pem", "SECRET\n");
	go_on(&d);
	expect(&d, "PLAIN");
	assert_null(strstr(d.text, "SECRET"));
	rename_on_host(&d, "new", "sub/.env");
	rename_on_host(&d, "pem", "a.pem");
	go_on(&d);
	d.input = fd_close(d.input);
	driver_output(&d);
	assert_null(strstr(d.text, "SECRET"));
	{
		struct link_message message;

		driver_link(&d, LINK_EXITED, &message);
		assert_int_equal(message.value, 3);
	}
	assert_told(&d, "REFUSED", PROTECT_DOTENV, "here", "sub/.env");
	assert_told(&d, "REFUSED", PROTECT_KEYS, "here", "a.pem");
	driver_done(&d);
}

/* npm and git unpack archives that hold such names. */
static void it_can_be_made_inside_and_not_be_read_back(void **state)
{
	struct driver d;

	init(&d, SHELL("echo x > made.pem || exit 11; echo y >> made.pem || exit 12; test -s made.pem || exit 13; "
		       "cat made.pem && exit 14; exec 5<>made.pem; exit 15"));
	start(&d);
	/* A redirection that fails ends the shell. */
	finish(&d, 2);
}

static void planted_paths_are_told(void **state)
{
	struct driver d;

	init(&d, SHELL("mkdir -p .vscode .git/hooks deep/er; echo > .vscode/tasks.json; echo > .git/hooks/pre-commit; "
		       "echo > deep/er/.envrc; echo > Makefile; mkdir -p x/hooks; echo > x/hooks/evil; mkdir y; mv x "
		       "y/.git; "
		       "echo > harmless"));
	start(&d);
	finish(&d, 0);
	assert_told(&d, "PLANTED", PROTECT_EDITOR_SETTINGS, "here", ".vscode");
	assert_told(&d, "PLANTED", PROTECT_EDITOR_SETTINGS, "here", ".vscode/tasks.json");
	assert_told(&d, "PLANTED", PROTECT_GIT_HOOKS, "here", ".git/hooks/pre-commit");
	assert_told(&d, "PLANTED", PROTECT_DIRENV, "here", "deep/er/.envrc");
	assert_told(&d, "PLANTED", PROTECT_GIT_HOOKS, "here", "y/.git/hooks");
	assert_told(&d, "PLANTED", PROTECT_GIT_HOOKS, "here", "y/.git/hooks/evil");
	assert_told(&d, "RUNS", 0, "here", "Makefile");
	assert_null(strstr(d.late, "harmless"));
}

static void what_the_host_makes_is_not_planted(void **state)
{
	struct driver d;

	init(&d, SHELL("echo ready; read x; exit 0"));
	on_host(&d, ".envrc", "old\n");
	start(&d);
	expect(&d, "ready");
	on_host(&d, "new", "new\n");
	rename_on_host(&d, "new", ".envrc");
	on_host(&d, "Makefile", "all:\n");
	go_on(&d);
	finish(&d, 0);
	assert_told(&d, "UNPROTECTED", PROTECT_DIRENV, "host", ".envrc");
	assert_null(strstr(d.late, "PLANTED"));
	assert_null(strstr(d.late, "RUNS"));
}

/* The last thing of a session is made by a process that outlives its program. */
static void what_is_made_last_is_told(void **state)
{
	struct driver d;

	init(&d,
	     SHELL("(setsid sh -c 'trap \"\" HUP TERM; while :; do echo > .envrc; rm -f .envrc; done' &) ; exit 0"));
	start(&d);
	finish(&d, 0);
	init(&d, SHELL("exec sh -c 'echo > .envrc'"));
	start(&d);
	finish(&d, 0);
	assert_told(&d, "PLANTED", PROTECT_DIRENV, "here", ".envrc");
}

static void a_secret_that_is_renamed_inside_is_told_and_stays_one(void **state)
{
	struct driver d;

	init(&d, SHELL("echo ready; read x; mv .env harmless; cat harmless; echo read $?; exit 0"));
	start(&d);
	expect(&d, "ready");
	on_host(&d, ".env", "SECRET\n");
	go_on(&d);
	expect(&d, "read 1");
	assert_null(strstr(d.text, "SECRET"));
	finish(&d, 0);
	assert_told(&d, "MOVED", PROTECT_DOTENV, "here", ".env");
	assert_told(&d, "REFUSED", PROTECT_DOTENV, "here", "harmless");
}

/* A second name, one that is secret only there, a folder that leads to it, a file moved here by the host. */
static void it_stays_one_under_every_name(void **state)
{
	struct driver d;

	init(&d, SHELL("echo ready; read x; ln .env a; rm .env; mv sub b; mv b/.env c; mv key.pem d.tmp; mv d.tmp d; "
		       "cat a c d; mv a .env; ln d e; cat .env e f; echo read $?; exit 0"));
	start(&d);
	expect(&d, "ready");
	on_host(&d, ".env", "SECRET 1\n");
	folder_on_host(&d, "new");
	on_host(&d, "new/.env", "SECRET 2\n");
	rename_on_host(&d, "new", "sub");
	on_host(&d, "g", "SECRET 3\n");
	rename_on_host(&d, "g", "key.pem");
	on_host(&d, "f", "plain\n");
	go_on(&d);
	expect(&d, "read 1");
	assert_null(strstr(d.text, "SECRET"));
	assert_non_null(strstr(d.text, "plain"));
	finish(&d, 0);
}

/* pid 1 ends while an open waits or comes: the session ends, nothing hangs. */
static void the_end_of_pid1_is_the_end(void **state)
{
	struct driver d;
	int status;

	init(&d, SHELL("echo > f; for i in 1 2 3; do while :; do read x < f; done & done; echo ready; wait"));
	start(&d);
	expect(&d, "ready");
	assert_int_equal(kill(d.pid1, SIGKILL), 0);
	assert_int_equal(waitpid(d.pid1, &status, 0), d.pid1);
	d.pid1 = 0;
	driver_output(&d);
	driver_done(&d);
}

/* 5,000 protected names: some are told, the rest is counted, the end comes. */
static void a_flood_is_counted(void **state)
{
	struct driver d;
	size_t lines = 0;

	init(&d, SHELL("mkdir .vscode; cd .vscode; i=0; while [ $i -lt 5000 ]; do : > $i; i=$((i+1)); done"));
	start(&d);
	finish(&d, 0);
	for (const char *at = d.late; (at = strchr(at, '\n')); at++)
		lines++;
	/* 128 of one protection at once, 4 a second */
	assert_in_range(lines, 100, 2500);
	assert_non_null(strstr(d.late, "MORE "));
}

static void nesting_says_so_and_may_be_refused(void **state)
{
	struct driver d;

	init(&d, SHELL("exit 0"));
	d.plan.flags = PLAN_NESTING;
	start(&d);
	finish(&d, 0);
	assert_non_null(strstr(d.late, "STATE 1 2\n"));
	init(&d, SHELL("exit 0"));
	d.plan.flags = PLAN_NESTING | PLAN_LATE_REQUIRED;
	driver_start(&d);
	assert_int_equal(driver_report(&d), 1);
	assert_string_equal(d.error.step, "late files");
	assert_non_null(strstr(d.error.message, "process.nesting"));
	driver_done(&d);
	init(&d, SHELL("exit 0"));
	d.plan.flags = PLAN_LATE_REQUIRED;
	start(&d);
	finish(&d, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_made_on_the_host_cannot_be_read),
		cmocka_unit_test(it_can_be_made_inside_and_not_be_read_back),
		cmocka_unit_test(planted_paths_are_told),
		cmocka_unit_test(what_the_host_makes_is_not_planted),
		cmocka_unit_test(what_is_made_last_is_told),
		cmocka_unit_test(a_secret_that_is_renamed_inside_is_told_and_stays_one),
		cmocka_unit_test(it_stays_one_under_every_name),
		cmocka_unit_test(the_end_of_pid1_is_the_end),
		cmocka_unit_test(a_flood_is_counted),
		cmocka_unit_test(nesting_says_so_and_may_be_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
