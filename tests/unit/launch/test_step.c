/* The step walker, and the small parts of the back end that need no rights. */
#include "daemon/launch/launch_step.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/launch/launch.h"
#include "daemon/linux/launch/launch_landlock.h"
#include "daemon/linux/net/launch_net.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_who.h"

#include <linux/magic.h>
#include <linux/netlink.h>

static int count(struct launch *l, struct error *e)
{
	l->filter_len++;
	return 0;
}

static int fail_silently(struct launch *l, struct error *e)
{
	return -ENOSPC;
}

static int fail_with_words(struct launch *l, struct error *e)
{
	return error_set(e, ERROR_INVALID, ENOENT, NULL, "Make it.", "The thing is not there.");
}

static int fail_by_own_name(struct launch *l, struct error *e)
{
	return error_set(e, ERROR_INVALID, EPERM, "deeper", NULL, "No.");
}

static void walks_in_order_and_stops(void **state)
{
	const struct launch_step steps[] = {
		{ "one", count }, { "two", count }, { "three", fail_silently }, { "four", count }
	};
	struct launch l = LAUNCH_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(launch_step_run(steps, 2, &l, &e), 0);
	assert_int_equal(e.code, ERROR_NONE);
	assert_int_equal(launch_step_run(steps, ARRAY_SIZE(steps), &l, &e), -ENOSPC);
	assert_int_equal(l.filter_len, 4);
	assert_int_equal(e.code, ERROR_SANDBOX_UNAVAILABLE);
	assert_int_equal(e.err, ENOSPC);
	assert_string_equal(e.step, "three");
	assert_string_equal(e.message, "The step \"three\" failed: No space left on device.");
}

static void keeps_what_the_step_says(void **state)
{
	const struct launch_step steps[] = { { "first", fail_with_words } }, other[] = { { "x", fail_by_own_name } };
	struct launch l = LAUNCH_INIT;
	struct error e = ERROR_INIT, f = ERROR_INIT;

	assert_int_equal(launch_step_run(steps, 1, &l, &e), -ENOENT);
	assert_int_equal(e.code, ERROR_INVALID);
	assert_string_equal(e.step, "first");
	assert_string_equal(e.message, "The thing is not there.");
	assert_string_equal(e.remedy, "Make it.");
	assert_int_equal(launch_step_run(other, 1, &l, &f), -EPERM);
	assert_string_equal(f.step, "deeper");
}

static void counts_netlink_messages(void **state)
{
	struct {
		struct nlmsghdr a;
		struct nlmsghdr b;
		uint32_t payload;
	} messages = { { 16, 1, NLM_F_ACK, 0, 0 }, { 20, 2, 0, 1, 0 }, 0 };
	unsigned acks = 9;

	assert_int_equal(launch_netlink_count(&messages, sizeof(messages), &acks), 2);
	assert_int_equal(acks, 1);
	assert_int_equal(launch_netlink_count(&messages, sizeof(messages) - 1, &acks), -EBADMSG);
	assert_int_equal(launch_netlink_count(&messages, 8, &acks), -EBADMSG);
	messages.a.nlmsg_len = 15;
	assert_int_equal(launch_netlink_count(&messages, sizeof(messages), &acks), -EBADMSG);
	messages.a.nlmsg_len = UINT32_MAX;
	assert_int_equal(launch_netlink_count(&messages, sizeof(messages), &acks), -EBADMSG);
}

static void names_are_cut_and_escaped(void **state)
{
	char text[8];

	launch_who_escape("a\nb\x1b\xff", text, sizeof(text));
	assert_string_equal(text, "a?b??");
	launch_who_escape("/usr/bin/node", text, sizeof(text));
	assert_string_equal(text, "in/node");
	launch_who_escape("", text, sizeof(text));
	assert_string_equal(text, "");
}

static void landlock_rights_follow_the_abi(void **state)
{
	assert_int_equal(launch_landlock_rights(1), 0);
	assert_int_equal(launch_landlock_rights(2), 0x3fff);
	assert_int_equal(launch_landlock_rights(3), 0x7fff);
	assert_int_equal(launch_landlock_rights(4), 0x7fff);
	assert_int_equal(launch_landlock_rights(5), 0xffff);
	/* A later one may know more; what we do not know is not handled. */
	assert_int_equal(launch_landlock_rights(99), 0xffff);
}

static void special_file_systems_are_known(void **state)
{
	assert_true(launch_source_is_special(PROC_SUPER_MAGIC));
	assert_true(launch_source_is_special_type("proc"));
	assert_true(launch_source_is_special_type("cgroup2"));
	assert_false(launch_source_is_special(TMPFS_MAGIC));
	assert_false(launch_source_is_special_type("ext4"));
	assert_false(launch_source_is_special_type("fuse.sshfs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_in_order_and_stops),       cmocka_unit_test(keeps_what_the_step_says),
		cmocka_unit_test(counts_netlink_messages),        cmocka_unit_test(names_are_cut_and_escaped),
		cmocka_unit_test(landlock_rights_follow_the_abi), cmocka_unit_test(special_file_systems_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
