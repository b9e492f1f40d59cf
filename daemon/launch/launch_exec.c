#include "daemon/launch/launch_exec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/launch/launch.h"

#define STEP "exec"
/* Where PATH is not set. The current folder is not in it, unlike in some old libraries. */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"
#define SHELL "/bin/sh"

const char *launch_exec_variable(const char *const *envp, const char *name)
{
	size_t len = strlen(name);

	for (; *envp; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

int launch_exec_status(const struct error *e)
{
	switch (e->code) {
	case ERROR_NOT_FOUND:
		return LAUNCH_EXIT_NOT_FOUND;
	case ERROR_CANNOT_EXECUTE:
		return LAUNCH_EXIT_CANNOT_EXECUTE;
	default:
		return LAUNCH_EXIT_FAILED;
	}
}

/* A script without "#!" is one for the shell, as everywhere since the first execvp. */
static int exec_script(const char *path, const char *const *argv, const char *const *envp)
{
	_cleanup_free_ const char **args = NULL;
	size_t n = 0;

	while (argv[n])
		n++;
	args = calloc(n + 2, sizeof(*args));
	if (!args)
		return -ENOMEM;
	args[0] = SHELL;
	args[1] = path;
	for (size_t i = 1; i < n; i++)
		args[i + 1] = argv[i];
	execve(SHELL, (char *const *)args, (char *const *)envp);
	return -errno;
}

static int exec_file(const char *path, const char *const *argv, const char *const *envp)
{
	execve(path, (char *const *)argv, (char *const *)envp);
	return errno == ENOEXEC ? exec_script(path, argv, envp) : -errno;
}

static int cannot(struct error *e, int r, const char *path)
{
	if (r == -ENOENT && access(path, F_OK) == 0)
		return error_set(e, ERROR_NOT_FOUND, ENOENT, STEP,
				 "Make its interpreter or loader readable inside with --allow-read.",
				 "%s exists in the sandbox, but the interpreter or loader that it names does not.",
				 path);
	if (r == -ENOENT || r == -ENOTDIR)
		return error_set(e, ERROR_NOT_FOUND, -r, STEP,
				 "Check the path, or make it readable inside with --allow-read.",
				 "%s does not exist in the sandbox.", path);
	return error_set(e, ERROR_CANNOT_EXECUTE, -r, STEP, NULL, "%s cannot be executed: %s.", path, strerror(-r));
}

/* True where the search goes on, as execvp does: this folder has no such program, or none that may be run. */
static bool search_goes_on(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -ESTALE || r == -ENODEV || r == -ETIMEDOUT;
}

int launch_exec(const char *const *argv, const char *const *envp, struct error *e)
{
	const char *search = launch_exec_variable(envp, "PATH");
	char path[LIMIT_PATH], refused[LIMIT_PATH] = "";

	if (strchr(argv[0], '/'))
		return cannot(e, exec_file(argv[0], argv, envp), argv[0]);
	if (!search || !search[0])
		search = DEFAULT_PATH;
	for (;;) {
		size_t len = strcspn(search, ":");
		int n, r;

		/* An empty element is the current folder. */
		n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(len < LIMIT_PATH ? len : LIMIT_PATH), search,
			     len > 0 ? "/" : "./", argv[0]);
		if (n > 0 && (size_t)n < sizeof(path)) {
			r = exec_file(path, argv, envp);
			if (!search_goes_on(r) || (r == -ENOENT && access(path, F_OK) == 0))
				return cannot(e, r, path);
			if (r == -EACCES)
				memcpy(refused, path, (size_t)n + 1);
		}
		if (!search[len])
			break;
		search += len + 1;
	}
	if (refused[0])
		return cannot(e, -EACCES, refused);
	return error_set(e, ERROR_NOT_FOUND, ENOENT, STEP,
			 "Is it installed in a folder that the sandbox shows? --allow-read FOLDER adds one.",
			 "The command %s is in no folder of PATH inside the sandbox.", argv[0]);
}
