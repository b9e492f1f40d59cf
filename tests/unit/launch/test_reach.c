/* Sources in folders that are granted themselves: a link there could be the work of an earlier session. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "tests/unit/launch/driver.h"

#define TEXT_MAX 128
#define RULES_MAX 4

/* A folder of the caller's outside of the project, with a "secret". */
static char outside[] = "/var/tmp/isod-test-reach-XXXXXX";

struct start {
	char patterns[RULES_MAX][TEXT_MAX];
	struct path_rule rules[RULES_MAX];
	char script[1024];
	const char *argv[4];
	struct driver d; /* last, since it has no fixed end */
};

static void as_user(const char *folder, const char *script)
{
	char command[2048];

	snprintf(command, sizeof(command), "cd %s && setpriv --reuid %u --regid %u --clear-groups sh -ec '%s'", folder,
		 DRIVER_UID, DRIVER_UID, script);
	assert_int_equal(system(command), 0);
}

/* The project is granted; host: what is made in it before, %1$s is the outside; program: what runs inside. */
static void prepare(struct start *s, const char *host, const char *program)
{
	char text[1024];

	*s = (struct start){ .argv = { "sh", "-c", s->script, NULL } };
	snprintf(s->script, sizeof(s->script), "set -e; export LC_ALL=C; %s", program);
	driver_init(&s->d, s->argv);
	snprintf(s->patterns[0], TEXT_MAX, "%s", s->d.project);
	s->rules[0] = (struct path_rule){ .effect = PATH_ALLOW_WRITE, .pattern = s->patterns[0] };
	s->d.plan.rules = s->rules;
	s->d.plan.n_rules = 1;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), host, outside);
#pragma GCC diagnostic pop
	as_user(s->d.project, text);
}

static const char *add_rule(struct start *s, enum path_effect effect, const char *folder, const char *name)
{
	uint32_t i = s->d.plan.n_rules++;

	snprintf(s->patterns[i], TEXT_MAX, "%s/%s", folder, name);
	s->rules[i] = (struct path_rule){ .effect = effect, .pattern = s->patterns[i] };
	return s->patterns[i];
}

#define NO_MOUNT PLAN_MOUNT_TYPE_END

static void add_grant(struct start *s, uint32_t type, uint32_t flags, const char *name)
{
	bool is_overlay = type == PLAN_MOUNT_OVERLAY;
	const char *path = add_rule(s,
				    is_overlay               ? PATH_OVERLAY
				    : flags & PLAN_READ_ONLY ? PATH_ALLOW_READ
							     : PATH_ALLOW_WRITE,
				    s->d.project, name);

	/* NO_MOUNT: as where the folder around is granted alike. */
	if (type == NO_MOUNT)
		return;
	driver_mount(&s->d, type, flags | PLAN_GRANT | PLAN_OPTIONAL | PLAN_FOLLOW, path,
		     type == PLAN_MOUNT_MATCHES ? s->d.project : path);
}

static void works(struct start *s)
{
	struct link_message exit;

	driver_run(&s->d, &exit);
	if (exit.kind != EXIT_KIND_CODE || exit.value != 0)
		fail_msg("%s", s->d.text);
	driver_done(&s->d);
}

static void fails(struct start *s, const char *text)
{
	driver_start(&s->d);
	assert_int_equal(driver_report(&s->d), 1);
	if (!strstr(s->d.error.message, text))
		fail_msg("%s: %s", s->d.error.step, s->d.error.message);
	assert_non_null(strstr(s->d.error.remedy, "Name that path itself"));
	driver_done(&s->d);
}

static void links_that_lead_out_are_refused(void **state)
{
	static const struct {
		const char *host;
		uint32_t type, flags;
		const char *name;
	} cases[] = {
		{ "ln -s %s data", PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data" },
		{ "ln -s %s data", PLAN_MOUNT_BIND, 0, "data" },
		{ "ln -s %s data", PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data/secret" },
		{ "mkdir a; ln -s %s a/b", PLAN_MOUNT_BIND, PLAN_READ_ONLY, "a/b/secret" },
		{ "mkdir a; ln -s ../c a/b; ln -s %s c", PLAN_MOUNT_BIND, PLAN_READ_ONLY, "a/b" },
		{ "ln -s ../../../../../../..%s data", PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data" },
		{ "ln -s %s data", PLAN_MOUNT_OVERLAY, 0, "data" },
		{ "ln -s %s data", NO_MOUNT, 0, "data" },
		{ "ln -s %s data", NO_MOUNT, 0, "data/secret" },
		{ "mkdir a; ln -s ../c a/b; ln -s %s c", NO_MOUNT, 0, "a/b" },
		{ "ln -s %s data", PLAN_MOUNT_MATCHES, PLAN_READ_ONLY, "data/*" },
		{ "mkdir a; ln -s %s a/b", PLAN_MOUNT_MATCHES, PLAN_READ_ONLY, "a/b/s*" },
		/* What is granted is no layer, and what is a layer is not granted. */
		{ "mkdir in; ln -s in data", PLAN_MOUNT_OVERLAY, 0, "data" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct start s;

		prepare(&s, cases[i].host, "true");
		add_grant(&s, cases[i].type, cases[i].flags, cases[i].name);
		fails(&s, "is reached through a link that leads to");
	}
}

/* A rule about a path says nothing about another name of it, however the name came to be. */
static void links_to_what_is_denied_are_refused(void **state)
{
	struct start s;

	prepare(&s, "mkdir private; touch private/f; ln -s private data", "true");
	add_rule(&s, PATH_DENY_READ, s.d.project, "private");
	add_grant(&s, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data");
	fails(&s, "/private, which the policy does not allow to be read");
	prepare(&s, "mkdir fixed; ln -s fixed data", "true");
	add_rule(&s, PATH_DENY_WRITE, s.d.project, "fixed");
	add_grant(&s, PLAN_MOUNT_BIND, 0, "data");
	fails(&s, "/fixed, which the policy does not allow to be written");
}

static void links_that_stay_inside_work(void **state)
{
	static const struct {
		const char *host, *name;
		uint32_t type;
	} cases[] = {
		{ "mkdir real; echo t > real/f; ln -s real data", "data", PLAN_MOUNT_BIND },
		{ "mkdir real; echo t > real/f; ln -s $PWD/real data", "data", PLAN_MOUNT_BIND },
		{ "mkdir real; echo t > real/f; ln -s real data", "data/f", PLAN_MOUNT_BIND },
		{ "mkdir real; echo t > real/f; ln -s real data", "data/*", PLAN_MOUNT_MATCHES },
		{ "mkdir data; echo t > data/f; ln -s nowhere x", "x", PLAN_MOUNT_BIND },
		/* Of what a pattern matches, links are not. */
		{ "mkdir data; echo t > data/f; ln -s %s data/g", "data/*", PLAN_MOUNT_MATCHES },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct start s;

		prepare(&s, cases[i].host, "cat data/f; ! cat data/g/secret 2>/dev/null");
		add_grant(&s, cases[i].type, PLAN_READ_ONLY, cases[i].name);
		works(&s);
	}
}

/* What it leads to is granted by its own name. */
static void links_to_another_grant_work(void **state)
{
	struct start s;
	const char *path;

	prepare(&s, "ln -s %s data", "cat data/secret");
	path = add_rule(&s, PATH_ALLOW_READ, outside, "");
	s.patterns[1][strlen(outside)] = '\0';
	driver_mount(&s.d, PLAN_MOUNT_BIND, PLAN_GRANT | PLAN_READ_ONLY | PLAN_OPTIONAL, path, path);
	add_grant(&s, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data");
	works(&s);
}

/* isod's own rules name places that need not be there: no reason not to start. */
static void links_at_places_of_built_in_rules_are_passed_over(void **state)
{
	struct start s;

	prepare(&s, "ln -s %s data", "! cat data/secret 2>/dev/null");
	add_grant(&s, PLAN_MOUNT_OVERLAY, 0, "data");
	s.d.mounts[s.d.plan.n_mounts - 1].flags &= ~(uint32_t)PLAN_GRANT;
	works(&s);
}

/* The folder and a link to the outside take each other's name without a pause: the outside is never seen. */
static void a_link_that_comes_and_goes(void **state)
{
	unsigned refused = 0;

	for (int i = 0; i < 40; i++) {
		struct start s;
		char from[TEXT_MAX], to[TEXT_MAX];
		struct link_message exit;
		pid_t pid;

		prepare(&s, "mkdir data; ln -s %s link", "! cat data/secret 2>/dev/null");
		add_grant(&s, PLAN_MOUNT_BIND, PLAN_READ_ONLY, "data");
		snprintf(from, sizeof(from), "%s/data", s.d.project);
		snprintf(to, sizeof(to), "%s/link", s.d.project);
		pid = fork();
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE);
		}
		assert_true(pid > 0);
		driver_start(&s.d);
		if (driver_report(&s.d) == 1) {
			refused++;
		} else {
			driver_link(&s.d, LINK_EXITED, &exit);
			assert_int_equal(exit.value, 0);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		driver_done(&s.d);
	}
	print_message("refused: %u of 40\n", refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_that_lead_out_are_refused),
		cmocka_unit_test(links_to_what_is_denied_are_refused),
		cmocka_unit_test(links_that_stay_inside_work),
		cmocka_unit_test(links_to_another_grant_work),
		cmocka_unit_test(links_at_places_of_built_in_rules_are_passed_over),
		cmocka_unit_test(a_link_that_comes_and_goes),
	};
	char command[256];
	int r;

	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || !mkdtemp(outside))
		return 1;
	snprintf(command, sizeof(command), "echo s > %s/secret; chown -R %u:%u %s", outside, DRIVER_UID, DRIVER_UID,
		 outside);
	if (system(command) != 0)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -rf %s", outside);
	return system(command) == 0 ? r : 1;
}
