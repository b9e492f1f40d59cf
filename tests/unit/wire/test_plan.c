#include "daemon/wire/plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "view/protect.h"

static const char *const argv[] = { "sh", "-c", "exit \xff\xfe 3", "", NULL };
static const char *const envp[] = { "PATH=/usr/bin", "EMPTY=", "A=b=c", NULL };
static const struct plan_mount mounts[] = {
	{ .type = PLAN_MOUNT_BIND, .flags = PLAN_READ_ONLY | PLAN_FOLLOW, .source = "/usr", .target = "/usr" },
	{ .type = PLAN_MAKE_LINK, .source = "usr/bin", .target = "/bin" },
	{ .type = PLAN_MOUNT_TMPFS, .flags = PLAN_OWNED, .mode = 01777, .size = 1ULL << 40, .target = "/tmp" },
	{ .type = PLAN_MOUNT_BIND, .flags = PLAN_PROJECT | PLAN_GRANT, .source = "/home/u/p", .target = "/home/u/p" },
	{ .type = PLAN_MOUNT_OVERLAY, .flags = PLAN_KEEP | PLAN_GRANT, .source = "/home/u/c", .target = "/home/u/c" },
	{ .type = PLAN_MOUNT_DEVICE, .source = "/dev/nvidia*", .target = "/dev/nvidia*" },
	{ .type = PLAN_MOUNT_MATCHES,
	  .flags = PLAN_READ_ONLY | PLAN_FOLLOW | PLAN_OPTIONAL | PLAN_GRANT,
	  .source = "/home/u/*/x[!a-z]",
	  .target = "/home/u" },
	{ .type = PLAN_COVER, .target = "/home/u/p/secret" },
	{ .type = PLAN_LOCK, .flags = PLAN_READ_ONLY, .target = "/home/u/p/.git/hooks" },
	{ .type = PLAN_LOCK, .target = "/home/u/p/.git" },
};
static const struct path_rule rules[] = {
	{ PATH_ALLOW_WRITE, 0, 0, "/home/u/p" },
	{ PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, PROTECT_DOTENV, "/**/.env.*" },
	{ PATH_EXEMPT, PATH_RULE_FLAGS_ALL, PROTECT_GROUP_COUNT - 1, "/" },
};

static const struct plan_port ports[] = {
	{ PLAN_PORT_IN, 0, 80 }, { PLAN_PORT_IN, 1024, 1 }, { PLAN_PORT_IN, 65535, 65535 },
	{ PLAN_PORT_IN, 0, 81 }, { PLAN_PORT_OUT, 22, 22 }, { PLAN_PORT_OUT, 1024, 1024 },
};

static struct plan sample(void)
{
	return (struct plan){
		.uid = 4294967294u,
		.flags = PLAN_PTY | PLAN_NESTING | PLAN_LATE_REQUIRED | PLAN_DEGRADED | PLAN_SSH |
			 PLAN_PLANTS_REQUIRED | PLAN_GPG,
		.umask = 0777,
		.rows = 65535,
		.columns = 80,
		.id = "0123456789ab",
		.hostname = "sandbox-1.local",
		.cwd = "/home/u/p",
		.argv = argv,
		.envp = envp,
		.n_argv = 4,
		.n_envp = 3,
		.mounts = mounts,
		.n_mounts = ARRAY_SIZE(mounts),
		.rules = rules,
		.n_rules = ARRAY_SIZE(rules),
		.ports = ports,
		.n_ports = ARRAY_SIZE(ports),
	};
}

static void encode(const struct plan *plan, struct buffer *b)
{
	assert_int_equal(plan_encode(plan, b), 0);
}

static void assert_list(const char *const *got, const char *const *wanted, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(got[i], wanted[i]);
	assert_null(got[n]);
}

static void comes_back_as_it_was(void **state)
{
	struct plan in = sample(), out;
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);
	void *block;

	encode(&in, &b);
	assert_int_equal(plan_decode(b.data, b.len, &out, &block, NULL), 0);
	assert_int_equal(out.uid, in.uid);
	assert_int_equal(out.flags, in.flags);
	assert_int_equal(out.umask, in.umask);
	assert_int_equal(out.rows, in.rows);
	assert_int_equal(out.columns, in.columns);
	assert_string_equal(out.id, in.id);
	assert_string_equal(out.hostname, in.hostname);
	assert_string_equal(out.cwd, in.cwd);
	assert_int_equal(out.n_argv, 4);
	assert_list(out.argv, argv, 4);
	assert_int_equal(out.n_envp, 3);
	assert_list(out.envp, envp, 3);
	assert_int_equal(out.n_mounts, ARRAY_SIZE(mounts));
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		assert_int_equal(out.mounts[i].type, mounts[i].type);
		assert_int_equal(out.mounts[i].flags, mounts[i].flags);
		assert_int_equal(out.mounts[i].mode, mounts[i].mode);
		assert_int_equal(out.mounts[i].size, mounts[i].size);
		assert_string_equal(out.mounts[i].target, mounts[i].target);
		if (mounts[i].source)
			assert_string_equal(out.mounts[i].source, mounts[i].source);
		else
			assert_null(out.mounts[i].source);
	}
	assert_int_equal(out.n_rules, ARRAY_SIZE(rules));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		assert_int_equal(out.rules[i].effect, rules[i].effect);
		assert_int_equal(out.rules[i].flags, rules[i].flags);
		assert_int_equal(out.rules[i].group, rules[i].group);
		assert_string_equal(out.rules[i].pattern, rules[i].pattern);
	}
	assert_int_equal(out.n_ports, ARRAY_SIZE(ports));
	assert_memory_equal(out.ports, ports, sizeof(ports));
	free(block);
}

static void every_prefix_is_refused(void **state)
{
	struct plan in = sample(), out;
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	encode(&in, &b);
	for (size_t len = 0; len < b.len; len++) {
		struct error e = ERROR_INIT;
		void *block = NULL;

		assert_int_equal(plan_decode(b.data, len, &out, &block, &e), -EBADMSG);
		assert_int_equal(e.code, ERROR_INTERNAL);
		assert_null(block);
	}
}

static void refuse_bytes(const void *data, size_t len, const char *message)
{
	struct plan out;
	struct error e = ERROR_INIT;
	void *block = NULL;

	assert_int_equal(plan_decode(data, len, &out, &block, &e), -EBADMSG);
	assert_non_null(strstr(e.message, message));
	assert_string_equal(e.step, "plan");
	assert_null(block);
}

static void refuse(const struct plan *plan, const char *message)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	encode(plan, &b);
	refuse_bytes(b.data, b.len, message);
}

static void bytes_after_the_end_are_refused(void **state)
{
	struct plan in = sample();
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	encode(&in, &b);
	assert_int_equal(buffer_append_u8(&b, 0), 0);
	refuse_bytes(b.data, b.len, "bytes follow its end");
}

static void another_version_is_refused(void **state)
{
	struct plan in = sample();
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	encode(&in, &b);
	b.data[4]++;
	refuse_bytes(b.data, b.len, "another version");
	b.data[0]++;
	refuse_bytes(b.data, b.len, "does not begin as one");
}

/* A NUL inside a string, and one without a NUL at its end. */
static void strings_have_one_nul(void **state)
{
	struct plan in = sample();
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);
	char *at;

	encode(&in, &b);
	at = memmem(b.data, b.len, "sandbox-1", 9);
	assert_non_null(at);
	at[3] = '\0';
	refuse_bytes(b.data, b.len, "the host name");
	at[3] = 'd';
	at = memmem(b.data, b.len, "EMPTY=", 7);
	assert_non_null(at);
	at[6] = 'x';
	refuse_bytes(b.data, b.len, "variable 1");
}

/* Counts that the bytes cannot hold must not become a large array. */
static void counts_are_bounded_by_the_bytes(void **state)
{
	struct plan in = sample();
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_PLAN);

	encode(&in, &b);
	memcpy(b.data + 20, (uint8_t[]){ 0, 0, 1, 0 }, 4);
	refuse_bytes(b.data, b.len, "shorter than its counts");
	memcpy(b.data + 20, (uint8_t[]){ 1, 0, 1, 0 }, 4);
	refuse_bytes(b.data, b.len, "65537 arguments");
	memcpy(b.data + 20, (uint8_t[]){ 4, 0, 0, 0 }, 4);
	memcpy(b.data + 32, (uint8_t[]){ 0, 0x80, 0, 0 }, 4);
	refuse_bytes(b.data, b.len, "shorter than its counts");
	memcpy(b.data + 32, (uint8_t[]){ 1, 0x80, 0, 0 }, 4);
	refuse_bytes(b.data, b.len, "32769 rules");
	memcpy(b.data + 28, (uint8_t[]){ 1, 0x40, 0, 0 }, 4);
	refuse_bytes(b.data, b.len, "16385 mounts");
	memcpy(b.data + 28, (uint8_t[]){ 1, 0, 0, 0 }, 4);
	memcpy(b.data + 32, (uint8_t[]){ 1, 0, 0, 0 }, 4);
	memcpy(b.data + 36, (uint8_t[]){ LIMIT_PLAN_PORTS + 1, 0, 0, 0 }, 4);
	refuse_bytes(b.data, b.len, "65 ports");
}

static void ports_are_checked(void **state)
{
	static const struct {
		struct plan_port ports[2];
		const char *message;
	} bad[] = {
		{ { { PLAN_PORT_IN, 1023, 80 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_IN, 1, 80 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_IN, 0, 0 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { 0, 0, 1 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_WAY_END, 0, 1 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_OUT, 0, 0 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_OUT, 22, 23 }, { PLAN_PORT_IN, 0, 1 } }, "port 0" },
		{ { { PLAN_PORT_IN, 8080, 80 }, { PLAN_PORT_IN, 8080, 81 } }, "port 1 is there twice" },
		{ { { PLAN_PORT_OUT, 80, 80 }, { PLAN_PORT_OUT, 80, 80 } }, "port 1 is there twice" },
		{ { { PLAN_PORT_OUT, 80, 80 }, { PLAN_PORT_IN, 8080, 80 } }, "port 1 is there twice" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct plan p = sample();

		p.ports = bad[i].ports;
		p.n_ports = 2;
		refuse(&p, bad[i].message);
	}
}

#define WITH(field, value, message)                                                                                    \
	do {                                                                                                           \
		struct plan p = sample();                                                                              \
		p.field = (value);                                                                                     \
		refuse(&p, message);                                                                                   \
	} while (0)

static void fields_are_checked(void **state)
{
	static const char *const empty[] = { "", NULL }, *const no_name[] = { "=x", NULL },
				 *const no_value[] = { "x", NULL };

	WITH(flags, PLAN_GPG << 1, "unknown flags");
	WITH(id, "0123456789a", "session's id");
	WITH(id, "0123456789AB", "session's id");
	WITH(id, "../../../etc", "session's id");
	WITH(hostname, "", "host name");
	WITH(hostname, "a b", "host name");
	WITH(hostname, "01234567890123456789012345678901234567890123456789012345678901234", "host name");
	WITH(cwd, "p", "working directory");
	WITH(cwd, "/a/../b", "working directory");
	WITH(umask, 01000, "the umask 01000");
	WITH(n_argv, 0, "0 arguments");
	struct plan p = sample();
	p.argv = empty;
	p.n_argv = 1;
	refuse(&p, "the command is empty");
	p = sample();
	p.envp = no_name;
	p.n_envp = 1;
	refuse(&p, "variable 0 has no name");
	p.envp = no_value;
	refuse(&p, "variable 0 has no name");
}

static void sockets_are_counted(void **state)
{
	struct plan_mount many[LIMIT_UNIX_SOCKETS + 1];
	struct plan p = sample();

	for (size_t i = 0; i < ARRAY_SIZE(many); i++)
		many[i] = (struct plan_mount){ .type = PLAN_MAKE_SOCKET, .target = "/a" };
	p.mounts = many;
	p.n_mounts = ARRAY_SIZE(many);
	refuse(&p, "one socket too many");
}

/* No name of a socket is that long. */
#define TEN "/23456789a"
static const char long_socket[] = TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN "/2345678";
_Static_assert(sizeof(long_socket) == LIMIT_UNIX_PATH + 1, "by one byte");

static void mounts_are_checked(void **state)
{
	static const struct {
		struct plan_mount mount;
		const char *message;
	} cases[] = {
		{ { .type = 0, .target = "/a" }, "the type" },
		{ { .type = PLAN_MOUNT_TYPE_END, .target = "/a" }, "the type" },
		{ { .type = PLAN_MOUNT_BIND, .flags = 1 << 8, .source = "/a", .target = "/a" }, "the flags" },
		{ { .type = PLAN_MOUNT_BIND, .flags = PLAN_KEEP, .source = "/a", .target = "/a" }, "the flags" },
		{ { .type = PLAN_MOUNT_PROC, .flags = PLAN_GRANT, .target = "/proc" }, "the flags" },
		{ { .type = PLAN_MOUNT_MATCHES, .flags = PLAN_PROJECT, .source = "/a/*", .target = "/a" },
		  "the flags" },
		{ { .type = PLAN_MOUNT_DEVICE, .flags = PLAN_GRANT, .source = "/dev/a", .target = "/dev/a" },
		  "the flags" },
		{ { .type = PLAN_COVER, .flags = PLAN_READ_ONLY, .target = "/a" }, "the flags" },
		{ { .type = PLAN_LOCK, .flags = PLAN_OPTIONAL, .target = "/a" }, "the flags" },
		{ { .type = PLAN_MOUNT_PROC, .flags = PLAN_OPTIONAL, .target = "/proc" }, "the flags" },
		{ { .type = PLAN_MOUNT_TMPFS, .mode = 04755, .target = "/a" }, "the mode" },
		{ { .type = PLAN_MOUNT_PROC, .size = 1, .target = "/proc" }, "the size" },
		{ { .type = PLAN_MOUNT_BIND, .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_BIND, .source = "a", .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_BIND, .source = "/a/..", .target = "/a" }, "the source" },
		{ { .type = PLAN_MAKE_LINK, .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_SYS, .source = "/sys", .target = "/sys" }, "the source" },
		{ { .type = PLAN_MOUNT_OVERLAY, .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_MATCHES, .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_MATCHES, .source = "a/*", .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_MATCHES, .source = "/*", .target = "/" }, "the target" },
		{ { .type = PLAN_COVER, .source = "/a", .target = "/a" }, "the source" },
		{ { .type = PLAN_LOCK, .source = "/a", .target = "/a" }, "the source" },
		{ { .type = PLAN_MOUNT_DEVICE, .target = "/dev/a" }, "the source" },
		{ { .type = PLAN_MOUNT_DEVICE, .source = "/dev/a", .target = "/dev/b" }, "the device" },
		{ { .type = PLAN_MOUNT_DEVICE, .source = "/device/a", .target = "/device/a" }, "the device" },
		{ { .type = PLAN_MOUNT_DEVICE, .source = "/dev", .target = "/dev" }, "the device" },
		{ { .type = PLAN_COVER, .target = "/a/." }, "the target" },
		{ { .type = PLAN_MAKE_SOCKET, .source = "/a", .target = "/a" }, "the source" },
		{ { .type = PLAN_MAKE_SOCKET, .flags = PLAN_OWNED, .target = "/a" }, "the flags" },
		{ { .type = PLAN_MAKE_SOCKET, .target = long_socket }, "the socket" },
		{ { .type = PLAN_MOUNT_PROC, .target = "proc" }, "the target" },
		{ { .type = PLAN_MOUNT_PROC, .target = "/" }, "the target" },
		{ { .type = PLAN_MOUNT_PROC, .target = "/a//b" }, "the target" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan p = sample();

		p.mounts = &cases[i].mount;
		p.n_mounts = 1;
		refuse(&p, cases[i].message);
	}
}

static void rules_are_checked(void **state)
{
	static const struct path_rule cases[] = {
		{ 0, 0, 0, "/a" },
		{ PATH_EFFECT_END, 0, 0, "/a" },
		{ PATH_DENY_READ, PATH_RULE_FLAGS_ALL + 1, 0, "/a" },
		{ PATH_DENY_READ, 0, PROTECT_GROUP_COUNT, "/a" },
		{ PATH_DENY_READ, 0, 0, "" },
		{ PATH_DENY_READ, 0, 0, "*" },
		{ PATH_DENY_READ, 0, 0, "/a/../*" },
		{ PATH_DENY_READ, 0, 0, "/a/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan p = sample();

		p.rules = &cases[i];
		p.n_rules = 1;
		refuse(&p, "rule 0");
	}
}

static void one_project_and_one_kept_layer_only(void **state)
{
	const struct plan_mount projects[] = { mounts[3], mounts[3] }, kept[] = { mounts[4], mounts[4] };
	struct plan p = sample();

	p.n_mounts = 2;
	p.mounts = projects;
	refuse(&p, "second project root");
	p.mounts = kept;
	refuse(&p, "second layer");
}

static void a_plan_past_the_limit_is_not_encoded(void **state)
{
	_cleanup_free_ char *large = malloc(LIMIT_PLAN);
	const char *const args[] = { large, NULL };
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(2 * LIMIT_PLAN);
	struct plan p = sample();

	assert_non_null(large);
	memset(large, 'x', LIMIT_PLAN - 1);
	large[LIMIT_PLAN - 1] = '\0';
	p.argv = args;
	p.n_argv = 1;
	assert_int_equal(buffer_append_u8(&b, 7), 0);
	assert_int_equal(plan_encode(&p, &b), -EMSGSIZE);
	/* What was there before stays, and nothing is added. */
	assert_int_equal(b.len, 1);
}

static void paths_are_clean_or_not(void **state)
{
	static const struct {
		const char *path;
		bool clean;
	} cases[] = {
		{ "/", true },      { "/a", true },   { "/a/b.c/..d", true }, { "/...", true },  { "/.a", true },
		{ "/a b\n", true }, { "", false },    { "a", false },         { "//", false },   { "/a/", false },
		{ "/a//b", false }, { "/.", false },  { "/..", false },       { "/./a", false }, { "/a/..", false },
		{ "/a/.", false },  { "./a", false }, { "/a/../b", false },
	};
	char path[LIMIT_PATH + 2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(plan_path_is_clean(cases[i].path), cases[i].clean);
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	path[LIMIT_PATH] = '\0';
	assert_false(plan_path_is_clean(path));
	path[LIMIT_PATH - 1] = '\0';
	assert_true(plan_path_is_clean(path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back_as_it_was),
		cmocka_unit_test(every_prefix_is_refused),
		cmocka_unit_test(bytes_after_the_end_are_refused),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(strings_have_one_nul),
		cmocka_unit_test(counts_are_bounded_by_the_bytes),
		cmocka_unit_test(fields_are_checked),
		cmocka_unit_test(mounts_are_checked),
		cmocka_unit_test(sockets_are_counted),
		cmocka_unit_test(rules_are_checked),
		cmocka_unit_test(ports_are_checked),
		cmocka_unit_test(one_project_and_one_kept_layer_only),
		cmocka_unit_test(a_plan_past_the_limit_is_not_encoded),
		cmocka_unit_test(paths_are_clean_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
