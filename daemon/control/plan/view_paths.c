#include "daemon/control/plan/view_paths.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/wire/plan.h"
#include "view/path_pattern.h"

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

/* Whoever reaches one of these makes containers with any folder of the machine in them. */
static const char *const engine_places[] = {
	"/run/docker.sock",
	"/run/docker",
	"/run/containerd",
	"/run/podman",
	"/run/crio",
	"/run/buildkit",
	"/run/lxd",
	"/run/incus",
	"/run/libvirt",
	"/var/lib/lxd/unix.socket",
	"/var/lib/incus/unix.socket",
	"/var/snap/lxd/common/lxd/unix.socket",
};

/* The same wherever they lie: /run/user/UID/podman/podman.sock, ~/.docker/run/docker.sock. */
static const char *const engine_names[] = { "docker.sock", "podman.sock", "containerd.sock", "crio.sock",
					    "buildkitd.sock" };

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

bool view_path_is_kernels(const char *path)
{
	return is_within_any(path, kernel_trees, ARRAY_SIZE(kernel_trees));
}

/* /var/run is /run. */
static const char *without_var(const char *path)
{
	return view_path_is_within(path, "/var/run") ? path + strlen("/var") : path;
}

static bool is_engine(const char *path)
{
	const char *slash = strrchr(path, '/');

	return is_within_any(without_var(path), engine_places, ARRAY_SIZE(engine_places)) ||
	       (slash && is_any(slash + 1, engine_names, ARRAY_SIZE(engine_names)));
}

static int refuse_engine(const char *path, struct error *e)
{
	return error_set(e, ERROR_POLICY, EPERM, "filesystem rule",
			 "Take the rule out, and start containers outside of the sandbox.",
			 "%s cannot be handed out: whoever reaches a container engine is root of this machine.", path);
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
	if (view_path_is_kernels(path))
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
	return is_engine(path) ? refuse_engine(path, e) : 0;
}

static bool matches_any(const char *pattern, const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (path_pattern_depth(pattern, paths[i]) > 0)
			return true;
	return false;
}

int view_pattern_check(const char *pattern, const char *base, struct error *e)
{
	int r = view_rule_check(base, e);

	if (r < 0)
		return r;
	if (matches_any(pattern, engine_places, ARRAY_SIZE(engine_places)) ||
	    matches_any(pattern, (const char *const[]){ "/var/run/docker.sock" }, 1))
		return refuse_engine(pattern, e);
	if (matches_any(pattern, socket_folders, ARRAY_SIZE(socket_folders)))
		return error_set(e, ERROR_POLICY, EPERM, "filesystem rule", "Name the one file in it that is needed.",
				 "%s would hand out folders that hold sockets of services.", pattern);
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
	if (view_path_is_kernels(path) || view_path_is_within(path, "/run/isod") ||
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
