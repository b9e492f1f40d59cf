#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"

#include <sys/resource.h>

#include "daemon/monitor/listener.h"

static char path[96];

static int make(void **state)
{
	char dir[] = "/tmp/isod-listener-XXXXXX";

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/sock", dir);
	return 0;
}

static int drop(void **state)
{
	char *slash = strrchr(path, '/');

	unlink(path);
	*slash = '\0';
	return rmdir(path);
}

static int connect_to(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void test_mode_and_stale(void **state)
{
	struct error e = ERROR_INIT;
	struct stat st;
	int fd = listener_bind(path, &e);

	assert_true(fd >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0666);
	assert_int_equal(umask(077), 077);
	/* Somebody listens. */
	assert_int_equal(listener_bind(path, &e), -EADDRINUSE);
	assert_int_equal(e.code, ERROR_REFUSED);
	/* Nobody does any more. */
	close(fd);
	fd = listener_bind(path, NULL);
	assert_true(fd >= 0);
	close(fd);
}

static void test_not_a_socket(void **state)
{
	struct stat st;
	int fd;

	unlink(path);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(listener_bind(path, NULL), -EADDRINUSE);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(unlink(path), 0);
}

static void test_long_path(void **state)
{
	char name[300];
	struct error e = ERROR_INIT;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(listener_bind(name, &e), -ENAMETOOLONG);
	assert_int_equal(e.code, ERROR_INVALID);
}

struct seen {
	struct listener listener;
	uv_loop_t loop;
	int connections;
	int last;
};

static void on_connection(struct listener *l, int fd)
{
	struct seen *s = l->owner;

	s->connections++;
	s->last = fd;
	uv_stop(&s->loop);
}

static void open_listener(struct seen *s)
{
	*s = (struct seen){ .last = -1 };
	uv_loop_init(&s->loop);
	assert_int_equal(listener_open(&s->listener, &s->loop, listener_bind(path, NULL), path), 0);
	s->listener.on_connection = on_connection;
	s->listener.owner = s;
}

static void close_listener(struct seen *s)
{
	listener_close(&s->listener);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_accept_when_wanted(void **state)
{
	struct seen s;
	int client;

	open_listener(&s);
	client = connect_to();
	uv_run(&s.loop, UV_RUN_NOWAIT);
	assert_int_equal(s.connections, 0);
	listener_accept(&s.listener, true);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	assert_int_equal(s.connections, 1);
	assert_int_equal(fcntl(s.last, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(s.last, F_GETFL) & O_NONBLOCK);
	close(s.last);
	close(client);
	close_listener(&s);
}

static void on_time(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

/* Without a free descriptor the loop neither spins nor forgets the connection. */
static void test_no_descriptors(void **state)
{
	struct rlimit before, none;
	uv_timer_t timer;
	struct seen s;
	int client, turns = 0, free_fd;

	open_listener(&s);
	uv_timer_init(&s.loop, &timer);
	listener_accept(&s.listener, true);
	client = connect_to();
	free_fd = dup(client);
	close(free_fd);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ free_fd, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	uv_timer_start(&timer, on_time, 50, 0);
	while (uv_is_active((uv_handle_t *)&timer) && turns < 1000) {
		uv_run(&s.loop, UV_RUN_ONCE);
		turns++;
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_true(turns < 10);
	assert_int_equal(s.connections, 0);
	uv_run(&s.loop, UV_RUN_DEFAULT);
	assert_int_equal(s.connections, 1);
	close(s.last);
	close(client);
	uv_close((uv_handle_t *)&timer, NULL);
	close_listener(&s);
}

/* In a child, since descriptor 3 and the environment are the process's. */
static int inherit(const char *count, bool right_pid, int fd)
{
	struct error e = ERROR_INIT;
	char number[16];
	int r;

	if (dup2(fd, 3) != 3)
		return 99;
	snprintf(number, sizeof(number), "%d", right_pid ? getpid() : getpid() + 1);
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", count, 1);
	r = listener_inherit(&e);
	if (r == 3)
		return fcntl(3, F_GETFD) == FD_CLOEXEC && fcntl(3, F_GETFL) & O_NONBLOCK ? 0 : 98;
	return -r;
}

static int in_child(const char *count, bool right_pid, int fd)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(inherit(count, right_pid, fd));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_activation(void **state)
{
	int fd = listener_bind(path, NULL), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int unbound = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(in_child("1", true, fd), 0);
	assert_int_equal(in_child("1", false, fd), ENOENT);
	assert_int_equal(in_child("2", true, fd), EINVAL);
	assert_int_equal(in_child("x", true, fd), EINVAL);
	assert_int_equal(in_child("1", true, null), EINVAL);
	assert_int_equal(in_child("1", true, unbound), EINVAL);
	close(unbound);
	close(null);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mode_and_stale), cmocka_unit_test(test_not_a_socket),
		cmocka_unit_test(test_long_path),      cmocka_unit_test(test_accept_when_wanted),
		cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_activation),
	};

	umask(077);
	return cmocka_run_group_tests(tests, make, drop);
}
