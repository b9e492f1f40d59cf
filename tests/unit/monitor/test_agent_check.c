/* What may be given as an ssh-agent. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/monitor/agent_check.h"

static void sockets(void **state)
{
	static const struct {
		int domain, type;
		int r;
	} cases[] = {
		{ AF_UNIX, SOCK_STREAM, 0 },
		{ AF_UNIX, SOCK_SEQPACKET, -EPERM },
		{ AF_UNIX, SOCK_DGRAM, -EPERM },
	};
	int pair[2];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;

		assert_int_equal(socketpair(cases[i].domain, cases[i].type | SOCK_CLOEXEC, 0, pair), 0);
		assert_int_equal(agent_check("ssh-agent", pair[0], geteuid(), &e), cases[i].r);
		fd_close(pair[0]);
		fd_close(pair[1]);
	}
}

static void others(void **state)
{
	struct error e = ERROR_INIT;
	int alone = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	assert_int_equal(agent_check("ssh-agent", alone, geteuid(), &e), -EPERM);
	assert_int_equal(e.code, ERROR_REFUSED);
	assert_int_equal(agent_check("ssh-agent", tcp, geteuid(), NULL), -EPERM);
	assert_int_equal(agent_check("ssh-agent", null, geteuid(), NULL), -EPERM);
	assert_int_equal(agent_check("ssh-agent", -1, geteuid(), NULL), -EPERM);
	fd_close(alone);
	fd_close(tcp);
	fd_close(null);
}

static void another_user(void **state)
{
	struct error e = ERROR_INIT;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(agent_check("ssh-agent", pair[0], geteuid() + 1, &e), -EPERM);
	assert_non_null(strstr(e.message, "same user"));
	assert_int_equal(agent_check("ssh-agent", pair[0], 0, NULL), 0);
	fd_close(pair[0]);
	fd_close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets),
		cmocka_unit_test(others),
		cmocka_unit_test(another_user),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
