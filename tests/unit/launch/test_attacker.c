/* tests/inside/attacker in a session with the rules that isod gives to every session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"
#include "daemon/linux/filter/nft_rules.h"
#include "daemon/linux/filter/seccomp_rules.h"
#include "tests/unit/launch/driver.h"

static char socket_name[64];
static const char *const argv[] = { "/attacker", socket_name, NULL };

/* Reachable only from the host's network namespace, which other runs of this test may share. */
static int host_socket(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), len;

	len = snprintf(socket_name, sizeof(socket_name), "isod-attacker-probe-%d", getpid());
	memcpy(address.sun_path + 1, socket_name, (size_t)len);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
			 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void attack(struct driver *d)
{
	_cleanup_buffer_ struct buffer rules = BUFFER_INIT(NFT_RULES_MAX), filter = BUFFER_INIT(SECCOMP_RULES_MAX);
	_cleanup_close_ int host = host_socket();
	struct link_message exit;

	assert_int_equal(nft_rules_build(&rules), 0);
	assert_int_equal(seccomp_rules_build(false, &filter), 0);
	d->ruleset = rules.data;
	d->ruleset_len = rules.len;
	d->filter = filter.data;
	d->filter_len = filter.len;
	d->spare_fd = host;
	driver_mount(d, PLAN_MOUNT_BIND, PLAN_READ_ONLY, ISOD_ATTACKER, "/attacker");
	driver_run(d, &exit);
	if (exit.kind != EXIT_KIND_CODE || exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 0);
	assert_non_null(strstr(d->text, "ok descriptors\n"));
	assert_non_null(strstr(d->text, " 0 possible\n"));
	driver_done(d);
}

static void an_ordinary_caller_can_do_nothing(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	attack(&d);
}

/* A caller that is root gets the same treatment. */
static void root_can_do_nothing(void **state)
{
	struct driver d;

	driver_init(&d, argv);
	d.plan.uid = d.context.uid = d.context.gid = 0;
	/* Without capabilities uid 0 cannot enter another's private folder. */
	assert_int_equal(chown(d.project, 0, 0), 0);
	attack(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_caller_can_do_nothing),
		cmocka_unit_test(root_can_do_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
