#include "client/run/git_caller.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/policy/policy_texts.h"

/* Distributions give each user a group of the same name, and a umask that lets it write. */
static bool is_of_one_user(const struct group *g, const char *name)
{
	if (strcmp(g->gr_name, name) != 0)
		return false;
	for (char **member = g->gr_mem; *member; member++)
		if (strcmp(*member, name) != 0)
			return false;
	return true;
}

static gid_t own_group(uid_t uid)
{
	const struct passwd *user = getpwuid(uid);
	const struct group *group = user ? getgrgid(user->pw_gid) : NULL;

	return group && is_of_one_user(group, user->pw_name) ? group->gr_gid : (gid_t)-1;
}

static bool is_true(const char *value)
{
	return value && git_config_bool(value) != 0;
}

/* As git finds them. */
static void find_files(struct git_caller *c, const char *home)
{
	const char *global = getenv("GIT_CONFIG_GLOBAL"), *config_home = getenv("XDG_CONFIG_HOME");

	c->files.system = is_true(getenv("GIT_CONFIG_NOSYSTEM")) ? NULL : "/etc/gitconfig";
	if (global) {
		c->files.global[0] = global[0] == '/' ? global : NULL;
		c->files.global[1] = NULL;
		return;
	}
	if (config_home && config_home[0] == '/')
		snprintf(c->global[0], PATH_MAX, "%s/git/config", config_home);
	else
		snprintf(c->global[0], PATH_MAX, "%s/.config/git/config", home);
	snprintf(c->global[1], PATH_MAX, "%s/.gitconfig", home);
	c->files.global[0] = c->global[0];
	c->files.global[1] = c->global[1];
}

void git_caller_init(struct git_caller *c)
{
	const char *home = policy_texts_home();

	memset(c, 0, sizeof(*c));
	c->user.uid = geteuid();
	c->user.group = own_group(c->user.uid);
	c->user.home = realpath(home, c->home);
	find_files(c, home);
}
