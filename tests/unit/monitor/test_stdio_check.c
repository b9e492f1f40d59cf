#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

#include "daemon/monitor/stdio_check.h"

static bool passes(int fd)
{
	struct error e = ERROR_INIT;
	int r = stdio_check(fd, "stdin", &e);

	assert_true(r == 0 || (r == -EPERM && e.code == ERROR_REFUSED && strncmp(e.message, "stdin is ", 9) == 0));
	return r == 0;
}

static void test_streams_pass(void **state)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	assert_true(passes(p[0]));
	assert_true(passes(p[1]));
	assert_true(passes(open("/dev/null", O_RDWR | O_CLOEXEC)));
}

static void test_the_rest_does_not(void **state)
{
	static const char *const paths[] = { "/etc/passwd", "/tmp", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx" };
	int p[2];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		int fd = open(paths[i], O_RDONLY | O_NOCTTY | O_CLOEXEC);

		if (fd < 0)
			assert_true(strcmp(paths[i], "/dev/tty") == 0); /* no terminal here */
		else
			assert_false(passes(fd));
		fd_close(fd);
	}
	assert_false(passes(open("/dev/null", O_PATH | O_CLOEXEC)));
	assert_false(passes(memfd_create("file", MFD_CLOEXEC)));
	for (size_t i = 0; i < 3; i++) {
		static const int types[] = { SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM };

		assert_int_equal(socketpair(AF_UNIX, types[i] | SOCK_CLOEXEC, 0, p), 0);
		assert_false(passes(p[0]));
	}
	assert_false(passes(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
	assert_false(passes(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

/* It has an owner, a mode and a place in the host's tree. */
static void test_named_fifo(void **state)
{
	char path[] = "/var/tmp/isod-test-fifo-XXXXXX", fifo[sizeof(path) + 2];
	int fd;

	assert_non_null(mkdtemp(path));
	snprintf(fifo, sizeof(fifo), "%s/f", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	fd = open(fifo, O_RDWR | O_CLOEXEC);
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(rmdir(path), 0);
	assert_false(passes(fd));
}

/* A client of some daemon's socket, such as Docker's: both ends of that are refused. */
static void test_connected_to_a_service(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(address);
	int server;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(sa_family_t)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
	server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_false(passes(client));
	assert_false(passes(server));
	assert_false(passes(listener));
}

static void test_not_open(void **state)
{
	struct error e = ERROR_INIT;

	assert_int_equal(stdio_check(987, "stdout", &e), -EBADF);
	assert_int_equal(e.code, ERROR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams_pass), cmocka_unit_test(test_the_rest_does_not),
		cmocka_unit_test(test_named_fifo),   cmocka_unit_test(test_connected_to_a_service),
		cmocka_unit_test(test_not_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
