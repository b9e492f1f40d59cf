#include "daemon/control/view_paths.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/wire/plan.h"

/* The kernel's own trees, made fresh for every view: nothing of the host's may be laid over or out of them. */
static const char *const kernel_trees[] = { "/proc", "/sys", "/dev" };

/* Mounted read-only from the host: a home in there must not hide programs. */
static const char *const system_trees[] = {
	"/usr", "/bin", "/sbin", "/lib",  "/lib32", "/lib64", "/libx32",
	"/etc", "/nix", "/boot", "/proc", "/sys",   "/dev",
};

/*
 * Sockets of services that act outside the sandbox with the user's rights: the user's D-Bus and systemd, container
 * engines, isod itself. A folder that holds them all cannot be handed out; single paths below can be named.
 */
static const char *const socket_folders[] = { "/run", "/var/run", "/run/user", "/var/run/user" };

static const char *const broad_folders[] = { "/tmp", "/var/tmp", "/var", "/opt", "/home" };

bool view_path_is_within(const char *path, const char *parent)
{
	size_t n = strlen(parent);

	if (n == 1)
		return path[0] == '/';
	return strncmp(path, parent, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static bool is_within_any(const char *path, const char *const *parents, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (view_path_is_within(path, parents[i]))
			return true;
	return false;
}

static bool is_any(const char *path, const char *const *others, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(path, others[i]) == 0)
			return true;
	return false;
}

static bool is_runtime_folder(const char *path)
{
	const char *rest;

	if (strncmp(path, "/run/user/", 10) == 0)
		rest = path + 10;
	else if (strncmp(path, "/var/run/user/", 14) == 0)
		rest = path + 14;
	else
		return false;
	return strchr(rest, '/') == NULL;
}

bool view_home_is_usable(const char *home)
{
	if (!plan_path_is_clean(home) || strcmp(home, "/") == 0)
		return false;
	if (is_within_any(home, system_trees, ARRAY_SIZE(system_trees)))
		return false;
	return !is_any(home, broad_folders, ARRAY_SIZE(broad_folders)) &&
	       !is_any(home, socket_folders, ARRAY_SIZE(socket_folders)) && !is_runtime_folder(home);
}

int view_rule_check(const char *path, struct error *e)
{
	static const char step[] = "filesystem rule";

	if (!plan_path_is_clean(path))
		return error_set(e, ERROR_POLICY, EINVAL, step, "Write it absolute, without \".\", \"..\" and \"//\".",
				 "The path %s is not a clean absolute path.", path);
	if (strcmp(path, "/") == 0)
		return error_set(e, ERROR_POLICY, EPERM, step, "Name the folders that are needed.",
				 "A rule for / would hand out the whole machine.");
	if (is_within_any(path, kernel_trees, ARRAY_SIZE(kernel_trees)))
		return error_set(e, ERROR_POLICY, EPERM, step, "Take the rule out.",
				 "%s cannot be handed out: every sandbox has a /proc, /sys and /dev of its own.", path);
	if (view_path_is_within(path, "/run/isod") || view_path_is_within(path, "/var/run/isod"))
		return error_set(e, ERROR_POLICY, EPERM, step, "Take the rule out.",
				 "%s cannot be handed out: whoever reaches isod can start a session with other rules.",
				 path);
	if (is_any(path, socket_folders, ARRAY_SIZE(socket_folders)) || is_runtime_folder(path))
		return error_set(
			e, ERROR_POLICY, EPERM, step, "Name the one file in it that is needed.",
			"%s cannot be handed out as a whole: it holds sockets of services that act outside the "
			"sandbox.",
			path);
	return 0;
}

int view_project_check(const char *path, const char *home, bool named, struct error *e)
{
	static const char step[] = "project folder";

	if (!plan_path_is_clean(path))
		return error_set(e, ERROR_INVALID, EINVAL, step, NULL,
				 "The working directory %s is not a clean absolute path.", path);
	if (strcmp(path, "/") == 0)
		return error_set(e, ERROR_REFUSED, EPERM, step, "Change to the folder of your project.",
				 "The project folder would be /, that is the whole machine.");
	if (is_within_any(path, kernel_trees, ARRAY_SIZE(kernel_trees)) || view_path_is_within(path, "/run/isod") ||
	    is_any(path, socket_folders, ARRAY_SIZE(socket_folders)) || is_runtime_folder(path) ||
	    is_any(path, system_trees, ARRAY_SIZE(system_trees)))
		return error_set(e, ERROR_REFUSED, EPERM, step, "Change to the folder of your project.",
				 "%s cannot be a project folder: it belongs to the system.", path);
	if (named)
		return 0;
	if (view_path_is_within(home, path))
		return error_set(e, ERROR_REFUSED, EPERM, step,
				 "Change to the folder of your project, or name this one with --allow-write.",
				 "The project folder would be %s, which holds your whole home directory.", path);
	if (is_any(path, broad_folders, ARRAY_SIZE(broad_folders)))
		return error_set(e, ERROR_REFUSED, EPERM, step,
				 "Change to the folder of your project, or name this one with --allow-write.",
				 "The project folder would be %s, which is shared with other programs.", path);
	return 0;
}
