#include "client/run/run_directory.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json/write.h"

/* POSIX: a PWD with "." or ".." components is not to be believed. */
static bool is_plain_absolute(const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	while (*path) {
		size_t len;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		if ((len == 1 && path[0] == '.') || (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += len;
	}
	return true;
}

static bool is_here(const char *path)
{
	struct stat a, b;

	return stat(path, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int add_link(struct run_directory *d, const char *path, const char *target)
{
	struct run_link *link;

	for (size_t i = 0; i < d->n_links; i++)
		if (strcmp(d->links[i].path, path) == 0)
			return 0;
	if (d->n_links == RUN_LINKS_MAX)
		return -ELOOP;
	link = &d->links[d->n_links];
	link->path = strdup(path);
	link->target = strdup(target);
	d->n_links++;
	return link->path && link->target ? 0 : -ENOMEM;
}

/* One component onto the resolved path; its length before goes to *ret_parent. */
static int descend(char *resolved, const char *component, size_t len, size_t *ret_parent)
{
	size_t at = strlen(resolved);

	*ret_parent = at;
	if (at + 1 + len >= PATH_MAX)
		return -ENAMETOOLONG;
	resolved[at] = '/';
	memcpy(resolved + at + 1, component, len);
	resolved[at + 1 + len] = '\0';
	return 0;
}

static void ascend(char *resolved)
{
	char *slash = strrchr(resolved, '/');

	if (slash)
		*slash = '\0';
}

/* The link's target takes the place of what is left to walk: the n bytes of target, "/", rest. rest lies inside
 * pending. */
static int redirect(char *pending, const char *target, size_t n, const char *rest)
{
	size_t m = strlen(rest);

	if (n + 1 + m >= PATH_MAX)
		return -ENAMETOOLONG;
	memmove(pending + n + 1, rest, m + 1);
	memcpy(pending, target, n);
	pending[n] = '/';
	return 0;
}

int run_directory_walk(const char *path, struct run_directory *ret)
{
	char pending[PATH_MAX], resolved[PATH_MAX] = "", target[PATH_MAX];
	const char *at = pending;
	int followed = 0;

	if (strlen(path) >= sizeof(pending))
		return -ENAMETOOLONG;
	memcpy(pending, path, strlen(path) + 1);
	for (;;) {
		size_t len, parent;
		ssize_t n;
		int r;

		at += strspn(at, "/");
		len = strcspn(at, "/");
		if (len == 0)
			return 0;
		if (len <= 2 && strncmp(at, "..", len) == 0) {
			if (len == 2)
				ascend(resolved);
			at += len;
			continue;
		}
		r = descend(resolved, at, len, &parent);
		if (r < 0)
			return r;
		at += len;
		n = readlink(resolved, target, sizeof(target) - 1);
		if (n < 0 && errno == EINVAL)
			continue; /* no link */
		if (n < 0)
			return -errno;
		target[n] = '\0';
		if (followed++ == RUN_LINKS_MAX)
			return -ELOOP;
		r = add_link(ret, resolved, target);
		if (r < 0)
			return r;
		resolved[target[0] == '/' ? 0 : parent] = '\0';
		r = redirect(pending, target, (size_t)n, at);
		if (r < 0)
			return r;
		at = pending;
	}
}

static int cwd_error(int err, struct error *e)
{
	if (err == ENOENT)
		return error_set(e, ERROR_INVALID, err, "working directory", "cd to a directory that exists.",
				 "The working directory has been removed, or lies outside of what you can see.");
	if (err == EACCES)
		return error_set(e, ERROR_INVALID, err, "working directory", "cd to a directory that you may read.",
				 "You may not read the way to the working directory.");
	return error_set(e, ERROR_INVALID, err, "working directory", "", "Cannot find the working directory: %s.",
			 strerror(err));
}

int run_directory_find(const char *pwd, struct run_directory *ret, struct error *e)
{
	int r;

	ret->cwd = getcwd(NULL, 0);
	if (!ret->cwd)
		return cwd_error(errno, e);
	if (ret->cwd[0] != '/')
		return cwd_error(ENOENT, e);
	if (strlen(ret->cwd) >= PATH_MAX)
		return error_set(e, ERROR_INVALID, ENAMETOOLONG, "working directory", "Move the project up.",
				 "The path of the working directory is too long: %zu bytes, and Linux takes %d.",
				 strlen(ret->cwd), PATH_MAX - 1);
	if (!pwd || strcmp(pwd, ret->cwd) == 0 || !is_plain_absolute(pwd) || !is_here(pwd))
		return 0;
	r = run_directory_walk(pwd, ret);
	if (r == -ENOMEM)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "working directory", "", "There is no memory left.");
	/* A way that cannot be walked is no error: the real path always serves. */
	if (r == 0)
		ret->pwd = strdup(pwd);
	return 0;
}

/* What cannot be walked is told by whoever opens it. */
void run_directory_add_home(const char *home, struct run_directory *d)
{
	if (is_plain_absolute(home))
		(void)run_directory_walk(home, d);
}

void run_directory_done(struct run_directory *d)
{
	free(d->cwd);
	free(d->pwd);
	for (size_t i = 0; i < d->n_links; i++) {
		free(d->links[i].path);
		free(d->links[i].target);
	}
}

void run_directory_write(const struct run_directory *d, struct json_writer *w)
{
	json_write_member_string(w, "cwd", d->cwd);
	if (d->pwd)
		json_write_member_string(w, "pwd", d->pwd);
	if (d->n_links == 0)
		return;
	json_write_key(w, "links");
	json_write_array(w);
	for (size_t i = 0; i < d->n_links; i++) {
		json_write_object(w);
		json_write_member_string(w, "path", d->links[i].path);
		json_write_member_string(w, "target", d->links[i].target);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}
