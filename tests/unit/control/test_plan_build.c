/* Plans as text, held against tests/golden/plan/NAME.txt. With GOLDEN_UPDATE=1 the files are written instead. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "plan_case.h"

#define ALICE .uid = 1000, .user = "alice", .home = "/home/alice"

static const struct plan_case golden[] = {
	{ .name = "plain",
	  ALICE,
	  .cwd = "/home/alice/proj",
	  .pwd = "/home/alice/proj",
	  .env = { { "PATH", "/usr/bin" }, { "TERM", "xterm" }, { "AWS_SECRET_ACCESS_KEY", "s" } } },
	{ .name = "split-usr", ALICE, .cwd = "/home/alice/proj", .split_usr = true },
	{ .name = "terminal-nesting",
	  ALICE,
	  .cwd = "/srv/proj",
	  .terminal = true,
	  .umask = 077,
	  .policy = "{\"process\":{\"nesting\":true}}" },
	{ .name = "rules",
	  ALICE,
	  .cwd = "/home/alice/proj",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"~/.gitconfig\",\"/data/b\",\"/data\",\"~/both\"],"
		    "\"allowWrite\":[\"~/.cache\",\"./sub\",\"~/both\"]}}}" },
	{ .name = "links",
	  ALICE,
	  .cwd = "/data/src/proj",
	  .pwd = "/home/alice/src/proj",
	  .links = { { "/home/alice/src", "/data/src" } } },
	/* /tmp is a folder of the session's, /usr is the host's, /home holds the home: no link goes there. */
	{ .name = "links-without-room",
	  ALICE,
	  .cwd = "/data/proj",
	  .pwd = "/tmp/x/proj",
	  .links = { { "/tmp/x", "/data" }, { "/usr/x", "/data" }, { "/home", "/data" }, { "/data/proj/in", "/" } } },
	{ .name = "no-user-entry", .uid = 4711, .cwd = "/srv/proj" },
	{ .name = "useless-home", .uid = 13, .user = "proxy", .home = "/bin", .cwd = "/srv/proj" },
	{ .name = "project-in-tmp", ALICE, .cwd = "/tmp/proj" },
	{ .name = "home-as-project",
	  ALICE,
	  .cwd = "/home/alice",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"allowWrite\":[\"~/.\"]}}}" },
	{ .name = "settings-as-project", ALICE, .cwd = "/home/alice/.claude" },
	/* Covers and locks below grants only; a deeper grant over a cover; /bin is /usr/bin. */
	{ .name = "denials",
	  ALICE,
	  .cwd = "/home/alice/proj",
	  .policy =
		  "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"./secrets\",\"./a/b/key\",\"/bin/gh\",\"/etc/passwd\","
		  "\"/mnt/x\",\"~/.ssh\",\"**/*.parquet\"],\"denyWrite\":[\"./ci\",\"./secrets/more\",\"/opt/x\"],"
		  "\"allowRead\":[\"./secrets/public\",\"/usr/share/x\",\"/etc/ssl/private\",\"~/.ssh/config\"],"
		  "\"allowWrite\":[\"./ci/cache\",\"/usr/local/x\"]}}}" },
	{ .name = "overlay-project",
	  ALICE,
	  .cwd = "/home/alice/proj",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"overlayProject\":true,\"overlay\":[\"~/.m2\",\"./sub\",\"/data\"],"
		    "\"allowWrite\":[\"./out\"],\"denyWrite\":[\"./ci\"],\"denyRead\":[\"/data/secret\"]}}}" },
	/* The matches below a later mount are mounted again over it. */
	{ .name = "wildcards",
	  ALICE,
	  .cwd = "/home/alice/proj",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"~/.con*\",\"~/*/app/x?\",\"./**/public\"],"
		    "\"allowWrite\":[\"~/.config/app\",\"/srv/data/[!a]*/out\"],\"denyRead\":[\"./secrets\",\"~/"
		    ".config/k\"]}}}" },
	{ .name = "devices",
	  ALICE,
	  .cwd = "/srv/p",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"devices\":[\"/dev/dri/renderD128\",\"/dev/nvidia*\"]}}}" },
	/* Bytes that mean something in a pattern mean nothing in the name of a folder. */
	{ .name = "glob-bytes",
	  ALICE,
	  .cwd = "/home/alice/p[1]*\\",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"./x\",\"./\\\\*\",\"./*.key\"]}}}" },
	/* A rule may be written in either spelling of HOME. */
	{ .name = "home-is-a-link",
	  ALICE,
	  .cwd = "/var/home/alice/proj",
	  .pwd = "/home/alice/proj",
	  .links = { { "/home", "var/home" } },
	  .policy = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"~/a\",\"/home/alice/b\",\"/var/home/alice/c\",\"/"
		    "home/*/d\"],"
		    "\"denyRead\":[\"~/proj/secret\",\"/home/alice/proj/*.key\"]}}}" },
	{ .name = "home-itself-is-a-link",
	  ALICE,
	  .cwd = "/data/alice/proj",
	  .pwd = "/home/alice/proj",
	  .links = { { "/home/alice", "/nas/alice" }, { "/nas", "data/." } },
	  .policy = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"~/a\"]}}}" },
	/* One socket twice, in both spellings of HOME. */
	{ .name = "unix-sockets",
	  ALICE,
	  .cwd = "/srv/p",
	  .links = { { "/home/alice", "/nas/alice" } },
	  .policy = "{\"sandbox\":{\"network\":{\"allowUnixSockets\":[\"/run/postgresql/.s.PGSQL.5432\",\"~/a/b.sock\","
		    "\"/nas/alice/a/b.sock\",\"./c.sock\"]}}}" },
	{ .name = "late-and-degraded",
	  ALICE,
	  .cwd = "/srv/p",
	  .administrator = "{\"degraded\":\"allow\"}",
	  .policy = "{\"sandbox\":{\"filesystem\":{\"lateFiles\":\"require\",\"denyRead\":[\"/proc/cpuinfo\",\"/sys/*/"
		    "x\"]}}}" },
};

#define TWENTY "0123456789abcdefghij"

static const struct {
	struct plan_case input;
	enum error_code code;
	const char *says;
} refused[] = {
#define CWD(path, error, text)                                                                                         \
	{                                                                                                              \
		{ ALICE, .cwd = path }, error, text                                                                    \
	}
	CWD("/", ERROR_REFUSED, "whole machine"),
	CWD("/home/alice", ERROR_REFUSED, "home directory"),
	CWD("/home", ERROR_REFUSED, "home directory"),
	CWD("/tmp", ERROR_REFUSED, "shared"),
	CWD("/usr", ERROR_REFUSED, "system"),
	CWD("/etc", ERROR_REFUSED, "system"),
	CWD("/proc/self/cwd", ERROR_REFUSED, "system"),
	CWD("/sys/fs", ERROR_REFUSED, "system"),
	CWD("/dev/shm/x", ERROR_REFUSED, "system"),
	CWD("/run/user/1000", ERROR_REFUSED, "system"),
	CWD("/run/isod/x", ERROR_REFUSED, "system"),
	CWD("relative", ERROR_INVALID, "clean"),
	CWD("", ERROR_INVALID, "clean"),
	CWD("/srv/../etc", ERROR_INVALID, "clean"),
	CWD("/srv//x", ERROR_INVALID, "clean"),
	CWD("/srv/x/", ERROR_INVALID, "clean"),
#define RULE(path)                                                                                                     \
	{                                                                                                              \
		{ ALICE, .cwd = "/srv/p", .policy = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"" path "\"]}}}" }, \
			ERROR_POLICY, ""                                                                               \
	}
	RULE("/"),
	RULE("/proc/1"),
	RULE("/dev/kvm"),
	RULE("/run"),
	RULE("/run/isod/isod.sock"),
	RULE("/run/user/1000"),
	RULE("/var/run"),
	RULE("/run/docker.sock"),
	RULE("/var/run/docker.sock"),
	RULE("/run/user/1000/podman/podman.sock"),
	RULE("/run/containerd/containerd.sock"),
	RULE("/run/containerd"),
	RULE("~/.docker/run/docker.sock"),
	RULE("/run/*"),
	RULE("/var/r*/docker.sock"),
	RULE("/var/r*"),
	RULE("/run/user/1000/*"),
	RULE("/proc/*/fd"),
	RULE("/run/isod/*"),
#define SOCKET(path, text)                                                                                             \
	{                                                                                                              \
		{ ALICE, .cwd = "/srv/p",                                                                              \
		  .policy = "{\"sandbox\":{\"network\":{\"allowUnixSockets\":[\"" path "\"]}}}" },                     \
			ERROR_POLICY, text                                                                             \
	}
	SOCKET("/", ""),
	SOCKET("/dev/log", "of its own"),
	SOCKET("/run/isod/isod.sock", "reaches isod"),
	SOCKET("/run/docker.sock", "container engine"),
	SOCKET("/var/run/docker.sock", "container engine"),
	SOCKET("~/.docker/run/docker.sock", "container engine"),
	SOCKET("/run/user/1000/podman/podman.sock", "container engine"),
	SOCKET("/run/libvirt/libvirt-sock", "container engine"),
	SOCKET("/run/systemd/private", "systemd"),
	SOCKET("/var/run/systemd/resolve/io.systemd.Resolve", "systemd"),
	SOCKET("/run/user/1000/systemd/private", "systemd"),
	SOCKET("/run/user/1000/bus", "D-Bus"),
	SOCKET("/var/run/dbus/system_bus_socket", "D-Bus"),
	SOCKET("/tmp/dbus-AbCd", "D-Bus"),
	SOCKET("/tmp/tmux-1000/default", "terminals"),
	SOCKET("/tmp/ssh-abc/agent.12", "ssh-agent"),
	SOCKET("/run/user/1000/keyring/ssh", "agent"),
	SOCKET("~/.ssh/agent.sock", "ssh-agent"),
	SOCKET("/run/user/1000/gnupg/S.gpg-agent", "gpg-agent"),
	SOCKET("~/.gnupg/S.gpg-agent.extra", "gpg-agent"),
	SOCKET("/run/" TWENTY TWENTY TWENTY TWENTY TWENTY "abc", "longer than 107"),
#define DENY(path, text)                                                                                               \
	{                                                                                                              \
		{ ALICE, .cwd = "/srv/p", .policy = "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"" path "\"]}}}" },  \
			ERROR_POLICY, text                                                                             \
	}
	DENY("/proc/cpuinfo", "cannot be enforced"),
	DENY("/dev/*", "cannot be enforced"),
	DENY("./", "denies reading the project folder"),
	{ { ALICE, .cwd = "/srv/p", .env = { { "A B", "x" } } }, ERROR_INVALID, "Entry 0" },
	{ { ALICE, .cwd = "/srv/p", .env = { { "A", "x" }, { "LANG", "x" }, { "LANG", "y" } } },
	  ERROR_INVALID,
	  "twice" },
	{ { ALICE, .cwd = "/srv/p", .named = { "OK", "1BAD" } }, ERROR_INVALID, "Entry 1" },
};

static void golden_path(const char *name, char ret[4096])
{
	const char *top = getenv("GOLDEN_DIR");

	assert_non_null(top);
	snprintf(ret, 4096, "%s/%s.txt", top, name);
}

static void test_golden(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		_cleanup_buffer_ struct buffer text = BUFFER_INIT(1 << 20);
		_cleanup_close_ int fd = -1;
		_cleanup_free_ char *expected = NULL;
		struct error e = ERROR_INIT;
		char path[4096];
		size_t len;

		if (plan_case_build(&golden[i], &built, &e) < 0)
			fail_msg("%s: %s: %s", golden[i].name, e.step, e.message);
		plan_case_dump(&built, &text);
		golden_path(golden[i].name, path);
		if (getenv("GOLDEN_UPDATE")) {
			fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
			assert_int_equal(fd_write_full(fd, text.data, text.len), 0);
			continue;
		}
		fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		assert_int_equal(fd_read_file(fd, 1 << 20, &expected, &len), 0);
		assert_int_equal(buffer_append(&text, "", 1), 0);
		assert_string_equal(text.data, expected);
	}
}

/* Where the rule stands is told with what is wrong with it. */
static void test_blame(void **state)
{
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	struct error e = ERROR_INIT;
	struct plan_case t = {
		ALICE, .cwd = "/srv/p",
		.policy = "{\"sandbox\":{\"filesystem\":{\n\"allowRead\":[\"/srv\",\n\"/run/docker.sock\"]}}}"
	};

	assert_true(plan_case_build(&t, &built, &e) < 0);
	assert_string_equal(e.step, "/policy.json:3: sandbox.filesystem.allowRead");
	assert_non_null(strstr(e.message, "/run/docker.sock"));
}

/* What is built is what isod-launch will accept. */
static void test_plans_can_be_decoded(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(golden); i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		_cleanup_buffer_ struct buffer bytes = BUFFER_INIT(LIMIT_PLAN);
		_cleanup_free_ void *block = NULL;
		struct error e = ERROR_INIT;
		struct plan plan;

		assert_int_equal(plan_case_build(&golden[i], &built, &e), 0);
		assert_int_equal(plan_encode(&built.plan, &bytes), 0);
		if (plan_decode(bytes.data, bytes.len, &plan, &block, &e) < 0)
			fail_msg("%s: %s: %s", golden[i].name, e.step, e.message);
		assert_int_equal(plan.n_mounts, built.plan.n_mounts);
	}
}

/* What lies on the way through links is not kept for each rule: with forty long ones that were a gigabyte. */
static void test_links_are_not_kept(void **state)
{
	size_t counts[2], found = 0;

	for (int i = 0; i < 2; i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		struct error e = ERROR_INIT;
		const struct plan_case t = {
			ALICE,
			.cwd = "/srv/p",
			.links = { { "/a", i ? "/b" : "/d" }, { "/b", "/c" }, { "/c", "/d" } },
			.policy = "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"/a/1\",\"/a/2\",\"/a/3\"]}}}",
		};

		assert_int_equal(plan_case_build(&t, &built, &e), 0);
		counts[i] = built.texts.count;
		for (size_t k = 0; k < built.plan.n_rules; k++)
			found += strncmp(built.plan.rules[k].pattern, "/d/", 3) == 0;
	}
	assert_int_equal(found, 6);
	assert_int_equal(counts[0], counts[1]);
}

static void test_links_to_long_paths_are_bounded(void **state)
{
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	_cleanup_buffer_ struct buffer policy = BUFFER_INIT(1 << 20);
	struct error e = ERROR_INIT;
	char target[LIMIT_PATH - 100];
	struct plan_case t = { ALICE, .cwd = "/srv/p", .links = { { "/a", target } } };

	for (size_t i = 0; i < sizeof(target); i++)
		target[i] = i % 100 == 0 ? '/' : 't';
	target[sizeof(target) - 1] = '\0';
	assert_int_equal(buffer_append_string(&policy, "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"/x\""), 0);
	for (int i = 0; i < 2000; i++)
		assert_int_equal(buffer_printf(&policy, ",\"/a/%d\"", i), 0);
	assert_int_equal(buffer_append(&policy, "]}}}", 5), 0);
	t.policy = policy.data;
	assert_int_equal(plan_case_build(&t, &built, &e), -E2BIG);
	assert_non_null(strstr(e.message, "links"));
}

static void test_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
		struct error e = ERROR_INIT;

		if (plan_case_build(&refused[i].input, &built, &e) == 0)
			fail_msg("case %zu (cwd %s) was not refused", i, refused[i].input.cwd);
		if (e.code != refused[i].code || !strstr(e.message, refused[i].says))
			fail_msg("case %zu: %s: %s", i, error_code_name(e.code), e.message);
	}
}

static void test_arguments_that_linux_does_not_take(void **state)
{
	_cleanup_plan_built_ struct plan_built built = PLAN_BUILT_INIT;
	_cleanup_free_ char *long_text = malloc(131073);
	struct error e = ERROR_INIT;
	struct plan_case t = { ALICE, .cwd = "/srv/p", .env = { { "LANG", long_text } } };

	memset(long_text, 'x', 131072);
	long_text[131072] = '\0';
	assert_true(plan_case_build(&t, &built, &e) < 0);
	assert_int_equal(e.code, ERROR_LIMIT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_blame),
		cmocka_unit_test(test_plans_can_be_decoded),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_links_are_not_kept),
		cmocka_unit_test(test_links_to_long_paths_are_bounded),
		cmocka_unit_test(test_arguments_that_linux_does_not_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
