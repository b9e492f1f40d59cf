/* process.nesting: an agent's own bubblewrap works inside, and still nothing of the outside can be had. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "daemon/linux/filter/seccomp_rules.h"
#include "tests/unit/launch/driver.h"

static void run(struct driver *d, bool nesting)
{
	_cleanup_buffer_ struct buffer filter = BUFFER_INIT(SECCOMP_RULES_MAX);
	struct link_message exit;

	assert_int_equal(seccomp_rules_build(nesting, &filter), 0);
	d->filter = filter.data;
	d->filter_len = filter.len;
	if (nesting)
		d->plan.flags |= PLAN_NESTING;
	driver_run(d, &exit);
	if (exit.value != 0)
		fputs(d->text, stderr);
	assert_int_equal(exit.kind, EXIT_KIND_CODE);
	assert_int_equal(exit.value, 0);
	driver_done(d);
}

#define SHELL(script) ((const char *const[]){ "sh", "-c", script, NULL })
#define BWRAP "bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp "

static void bubblewrap_works_inside(void **state)
{
	struct driver d;

	driver_init(&d, SHELL(BWRAP "sh -c 'test $$ -lt 5 && touch /tmp/x && ! touch /usr/x 2>/dev/null'"));
	run(&d, true);
}

/* Root of a namespace of one's own is still the caller to the machine. */
static void nested_root_gains_nothing(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("unshare -Urmpf --mount-proc sh -c '"
			      "for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do"
			      " ! sh -c \": > $f\" 2>/dev/null || exit 1; done; "
			      "! head -c1 /proc/kcore 2>/dev/null && ! umount /usr 2>/dev/null && "
			      "! mount -o remount,bind,rw /usr 2>/dev/null'"));
	run(&d, true);
}

static void without_it_there_are_no_namespaces(void **state)
{
	struct driver d;

	driver_init(&d, SHELL("! " BWRAP "true 2>/dev/null; ! unshare -Ur true 2>/dev/null"));
	run(&d, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bubblewrap_works_inside),
		cmocka_unit_test(nested_root_gains_nothing),
		cmocka_unit_test(without_it_there_are_no_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
