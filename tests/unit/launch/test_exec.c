#include "daemon/launch/launch_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd.h"

static char folder[] = "/tmp/isod-test-exec-XXXXXX";

static void put(const char *name, const char *content, mode_t mode)
{
	char path[128];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_full(fd, content, strlen(content)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
}

static int make_files(void **state)
{
	char path[128];

	assert_non_null(mkdtemp(folder));
	put("plain", "exit 5\n", 0644);
	put("script", "exit ${#1}\n", 0755);
	put("lost", "#!/nowhere/interpreter\n", 0755);
	put("whole", "#!/bin/sh\nexit 6\n", 0755);
	snprintf(path, sizeof(path), "%s/folder", folder);
	return mkdir(path, 0755);
}

static int remove_files(void **state)
{
	static const char *const names[] = { "plain", "script", "lost", "whole" };
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/folder", folder);
	rmdir(path);
	return rmdir(folder);
}

/* The exit status of a started program, or -1 with *e where none was. */
static int start(const char *command, const char *argument, const char *path, struct error *e)
{
	char variable[256];
	const char *const argv[] = { command, argument, NULL }, *const envp[] = { variable, NULL };
	int pipe_ends[2], status;
	pid_t pid;

	snprintf(variable, sizeof(variable), "PATH=%s", path);
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		assert_true(launch_exec(argv, envp, e) < 0);
		fd_write_full(pipe_ends[1], e, sizeof(*e));
		_exit(0);
	}
	fd_close(pipe_ends[1]);
	assert_true(fd_read_full(pipe_ends[0], e, sizeof(*e)) >= 0);
	fd_close(pipe_ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return e->code == ERROR_NONE ? WEXITSTATUS(status) : -1;
}

static void starts_what_it_finds(void **state)
{
	struct error e = ERROR_INIT;
	char path[256], file[256];

	snprintf(path, sizeof(path), "/nowhere:%s/folder:%s", folder, folder);
	assert_int_equal(start("whole", NULL, path, &e), 6);
	/* Without "#!" the shell reads it, with its arguments. */
	assert_int_equal(start("script", "abcd", path, &e), 4);
	snprintf(file, sizeof(file), "%s/whole", folder);
	assert_int_equal(start(file, NULL, "", &e), 6);
	/* An unset PATH means the usual folders. */
	assert_int_equal(start("false", NULL, "", &e), 1);
}

static void an_empty_element_is_the_current_folder(void **state)
{
	struct error e = ERROR_INIT;
	char old[256];

	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(start("whole", NULL, "/nowhere:", &e), 6);
	assert_int_equal(start("whole", NULL, "/nowhere", &e), -1);
	assert_int_equal(chdir(old), 0);
}

static void says_why_not(void **state)
{
	static const struct {
		const char *command; /* %s: the folder */
		bool in_path;
		enum error_code code;
		int err;
		int status;
		const char *message;
	} cases[] = {
		{ "nothing", true, ERROR_NOT_FOUND, ENOENT, 127, "in no folder of PATH" },
		{ "plain", true, ERROR_CANNOT_EXECUTE, EACCES, 126, "Permission denied" },
		{ "folder", true, ERROR_CANNOT_EXECUTE, EACCES, 126, "Permission denied" },
		{ "lost", true, ERROR_NOT_FOUND, ENOENT, 127, "interpreter" },
		{ "%s/nothing", false, ERROR_NOT_FOUND, ENOENT, 127, "does not exist" },
		{ "%s/plain", false, ERROR_CANNOT_EXECUTE, EACCES, 126, "Permission denied" },
		{ "%s/plain/x", false, ERROR_NOT_FOUND, ENOTDIR, 127, "does not exist" },
		{ "%s/lost", false, ERROR_NOT_FOUND, ENOENT, 127, "interpreter" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error e = ERROR_INIT;
		char command[256];

		if (cases[i].in_path)
			snprintf(command, sizeof(command), "%s", cases[i].command);
		else
			snprintf(command, sizeof(command), "%s%s", folder, cases[i].command + 2);
		assert_int_equal(start(command, NULL, folder, &e), -1);
		assert_int_equal(e.code, cases[i].code);
		assert_int_equal(e.err, cases[i].err);
		assert_string_equal(e.step, "exec");
		assert_non_null(strstr(e.message, cases[i].message));
		assert_int_equal(launch_exec_status(&e), cases[i].status);
	}
}

static void other_errors_are_125(void **state)
{
	struct error e = { .code = ERROR_SANDBOX_UNAVAILABLE };

	assert_int_equal(launch_exec_status(&e), 125);
}

static void finds_variables(void **state)
{
	const char *const envp[] = { "PATHS=/a", "PATH=/b", "E=", NULL };

	assert_string_equal(launch_exec_variable(envp, "PATH"), "/b");
	assert_string_equal(launch_exec_variable(envp, "E"), "");
	assert_null(launch_exec_variable(envp, "PAT"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_what_it_finds), cmocka_unit_test(an_empty_element_is_the_current_folder),
		cmocka_unit_test(says_why_not),         cmocka_unit_test(other_errors_are_125),
		cmocka_unit_test(finds_variables),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
