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

#include "daemon/monitor/place.h"
#include "daemon/monitor/tree_remove.h"

static char dir[64], run[96], state_dir[96], config[96];

static int make(void **state)
{
	strcpy(dir, "/tmp/isod-place-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(run, sizeof(run), "%s/run", dir);
	snprintf(state_dir, sizeof(state_dir), "%s/state", dir);
	snprintf(config, sizeof(config), "%s/config", dir);
	return 0;
}

static int drop(void **state)
{
	return tree_remove(AT_FDCWD, dir);
}

static void check_folder(const char *name, mode_t mode, uid_t uid)
{
	char path[160];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, mode);
	assert_int_equal(st.st_uid, uid);
}

static void test_folders(void **state)
{
	struct place p = PLACE_INIT, second = PLACE_INIT;
	struct error e = ERROR_INIT;

	/* Left by hand with a mode too wide. */
	assert_int_equal(mkdir(state_dir, 0777), 0);
	assert_int_equal(chmod(state_dir, 0777), 0);
	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, &e), 0);
	check_folder("run", 0755, 0);
	check_folder("state", 0711, 0);
	check_folder("state/sessions", 0700, 0);
	check_folder("state/audit", 0700, 1234);
	assert_int_equal(strlen(p.tag), CGROUP_TAG_LEN);
	assert_int_equal(place_open(&second, run, state_dir, config, 1234, 4321, &e), -EWOULDBLOCK);
	assert_int_equal(e.code, ERROR_REFUSED);
	place_close(&second);
	place_close(&p);
}

/* Other run folder, same state folder: the scratch folders would be swept away under the first one. */
static void test_state_is_locked_too(void **state)
{
	struct place p = PLACE_INIT, second = PLACE_INIT;
	struct error e = ERROR_INIT;
	char other[128];

	snprintf(other, sizeof(other), "%s/run2", dir);
	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, NULL), 0);
	assert_int_equal(place_open(&second, other, state_dir, config, 1234, 4321, &e), -EWOULDBLOCK);
	assert_string_not_equal(p.tag, second.tag);
	place_close(&second);
	place_close(&p);
}

static void test_sweep(void **state)
{
	struct place p = PLACE_INIT;

	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, NULL), 0);
	assert_int_equal(mkdirat(p.sessions, "00000000000a", 0700), 0);
	assert_int_equal(mkdirat(p.sessions, "00000000000a/tmp", 0777), 0);
	assert_int_equal(place_sweep_sessions(&p), 0);
	assert_int_equal(faccessat(p.sessions, "00000000000a", F_OK, 0), -1);
	place_close(&p);
}

static void test_strangers_folders(void **state)
{
	struct place p = PLACE_INIT;
	struct error e = ERROR_INIT;

	assert_int_equal(chmod(config, 0777), 0);
	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, &e), -EPERM);
	place_close(&p);
	assert_int_equal(chmod(config, 0755), 0);
	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, NULL), 0);
	place_close(&p);
	assert_int_equal(chown(run, 1234, 1234), 0);
	assert_int_equal(place_open(&p, run, state_dir, config, 1234, 4321, NULL), -EPERM);
	place_close(&p);
	assert_int_equal(tree_remove(AT_FDCWD, run), 0);
	assert_int_equal(symlink("/tmp", run), 0);
	assert_true(place_open(&p, run, state_dir, config, 1234, 4321, NULL) < 0);
	place_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_state_is_locked_too),
		cmocka_unit_test(test_sweep),
		cmocka_unit_test(test_strangers_folders),
	};

	umask(077);
	return cmocka_run_group_tests(tests, make, drop);
}
