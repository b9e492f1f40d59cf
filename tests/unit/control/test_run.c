/* Which Run calls are served, and what isod is asked for. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "server.h"

/* How many files the audit folder has, each of them with one session.start_failed and nothing else. */
static unsigned count_refusals(const struct server *s)
{
	_cleanup_closedir_ DIR *dir = opendir(s->dir);
	const struct dirent *entry;
	unsigned n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		_cleanup_close_ int fd = -1;
		char text[8192] = "";
		ssize_t len;

		if (!strstr(entry->d_name, ".jsonl"))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		len = read(fd, text, sizeof(text) - 1);
		assert_true(len > 0);
		assert_ptr_equal(strchr(text, '\n'), text + len - 1);
		assert_non_null(strstr(text, "\"uid\":1000,\"event\":\"session.start_failed\",\"argv\":[\"true\"],"
					     "\"project\":\"/"));
		n++;
	}
	return n;
}

static void test_refused_runs(void **state)
{
	static const struct {
		const char *call, *error;
		size_t n_fds;
	} bad[] = {
		{ SERVER_RUN(""), "org.isod.Invalid", 0 },
		{ SERVER_RUN(""), "org.isod.Invalid", 2 },
		{ SERVER_RUN(""), "org.isod.Invalid", 4 },
		{ SERVER_RUN(",\"name\":\"../x\""), "org.isod.Invalid", 3 },
		{ SERVER_RUN(",\"name\":\"0123456789ab\""), "org.isod.Invalid", 3 },
		{ SERVER_RUN(",\"terminal\":{\"rows\":2,\"columns\":2}"), "org.isod.Invalid", 3 },
	};
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[4] = { null, null, null, null };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		server_call(*state, client, bad[i].call, fds, bad[i].n_fds);
		server_expect_error(*state, client, bad[i].error);
	}
	assert_true(LIST_EMPTY(&((struct server *)*state)->control.registry.live));
	assert_int_equal(count_refusals(*state), ARRAY_SIZE(bad));
}

static void test_stdio_that_would_open_the_host(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int bad[7], fds[3], pair[2];

	bad[0] = open(s->dir, O_RDONLY | O_CLOEXEC);
	bad[1] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	bad[2] = open("/dev/null", O_PATH | O_CLOEXEC);
	bad[3] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bad[4] = memfd_create("x", MFD_CLOEXEC);
	bad[5] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* Descriptors could be handed in over it. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	bad[6] = pair[0];
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(bad[i] >= 0);
		for (int k = 0; k < 3; k++)
			fds[k] = k == (int)(i % 3) ? bad[i] : null;
		server_call(s, client, SERVER_RUN(""), fds, 3);
		server_expect_error(s, client, "org.isod.Refused");
		close(bad[i]);
	}
	assert_int_equal(count_refusals(s), ARRAY_SIZE(bad));
	close(pair[1]);
}

static void test_pipes_pass(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000);
	int p[2], fds[3];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	fds[0] = p[0];
	fds[1] = p[1];
	fds[2] = p[1];
	server_call(*state, client, SERVER_RUN(""), fds, 3);
	server_isod_expect(*state, CONTROL_START);
	for (int i = 0; i < 2; i++)
		close(p[i]);
}

static void test_what_start_carries(void **state)
{
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[FD_PASS_MAX] = { null, null, null };
	size_t n_fds;
	struct control_message m;

	server_call(*state, client, SERVER_RUN(",\"name\":\"worker\""), fds, 3);
	do
		m = server_isod_receive(*state, fds, &n_fds);
	while (m.type != CONTROL_START);
	assert_int_equal(n_fds, 5);
	assert_int_equal(m.connection, 1);
	assert_int_equal(m.flags, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(fds[i], F_GET_SEALS) &
					 (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
				 F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	while (n_fds > 0)
		close(fds[--n_fds]);
}

static void test_quota(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3] = { null, null, null };

	for (int i = 0; i <= LIMIT_SESSIONS_PER_UID; i++) {
		_cleanup_close_ int client = server_connect(s, 1000);

		server_call(s, client, SERVER_RUN(""), fds, 3);
		if (i == LIMIT_SESSIONS_PER_UID)
			server_expect_error(s, client, "org.isod.LimitExceeded");
		else
			server_isod_expect(s, CONTROL_START);
	}
	{
		_cleanup_close_ int client = server_connect(s, 1001);

		server_call(s, client, SERVER_RUN(""), fds, 3);
		server_isod_expect(s, CONTROL_START);
	}
}

static void write_policy(struct server *s, const char *text, mode_t mode)
{
	_cleanup_close_ int dir = open(s->config, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int fd = openat(dir, "policy.json", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
}

static void test_administrators_policy(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3] = { null, null, null };

	if (geteuid() != 0) {
		/* Only root's file is believed at all: that is what can be shown here. */
		write_policy(s, "{}", 0644);
		server_call(s, client, SERVER_RUN(""), fds, 3);
		server_expect_error(s, client, "org.isod.PolicyInvalid");
		return;
	}
	write_policy(s, "{\n\"nosuch\": 1}", 0644);
	server_call(s, client, SERVER_RUN(""), fds, 3);
	{
		_cleanup_json_ struct json_document doc = server_reply(s, client);

		assert_string_equal(text_at(doc.root, "error", NULL), "org.isod.PolicyInvalid");
		assert_non_null(strstr(text_at(doc.root, "parameters", "step"), "policy.json:2: nosuch"));
	}
	write_policy(s, "{}", 0666);
	server_call(s, client, SERVER_RUN(""), fds, 3);
	server_expect_error(s, client, "org.isod.PolicyInvalid");
	write_policy(s, "{}", 0644);
	server_call(s, client, SERVER_RUN(""), fds, 3);
	server_isod_expect(s, CONTROL_START);
}

/* Without an audit log nothing is started. */
static void test_no_audit_no_start(void **state)
{
	struct server *s = *state;
	_cleanup_close_ int client = server_connect(s, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fds[3] = { null, null, null }, dir = s->control.audit.dir_fd;

	s->control.audit.dir_fd = null;
	server_call(s, client, SERVER_RUN(""), fds, 3);
	server_expect_error(s, client, "org.isod.SandboxUnavailable");
	s->control.audit.dir_fd = dir;
}

static void test_machine_that_cannot(void **state)
{
	struct control_message hello = { .type = CONTROL_HELLO };
	_cleanup_close_ int client = server_connect(*state, 1000), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	int fds[3] = { null, null, null };

	error_set(&hello.error, ERROR_SANDBOX_UNAVAILABLE, 95, "nftables", "Load nf_tables.",
		  "This kernel has no nftables.");
	server_isod_send(*state, &hello, -1);
	server_call(*state, client, SERVER_RUN(""), fds, 3);
	server_expect_error(*state, client, "org.isod.SandboxUnavailable");
	server_call(*state, client, "{\"method\":\"org.isod.Status\"}", NULL, 0);
	doc = server_reply(*state, client);
	assert_false(json_get(json_get(doc.root, "parameters"), "ready")->boolean);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, server_setup, server_teardown)
		TEST(test_refused_runs),
		TEST(test_stdio_that_would_open_the_host),
		TEST(test_pipes_pass),
		TEST(test_what_start_carries),
		TEST(test_quota),
		TEST(test_administrators_policy),
		TEST(test_no_audit_no_start),
		TEST(test_machine_that_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
