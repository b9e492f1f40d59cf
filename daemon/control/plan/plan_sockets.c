#include "daemon/control/plan/plan_sockets.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/plan/plan_mounts.h"
#include "daemon/control/plan/view_paths.h"
#include "view/path_pattern.h"

#define KEY "sandbox.network.allowUnixSockets"

static const char outside[] = "Take it out, and do outside of the sandbox what is to be done with that service.";
static const char ssh[] = "Lend keys of the ssh-agent with \"sandbox.sshAgent\" (docs/SSH-AGENT.md).";
static const char gpg[] = "Lend keys of the gpg-agent with \"sandbox.gpgAgent\" (docs/GPG-AGENT.md).";

/* Whoever talks to one of these runs programs outside, with the user's rights or root's, or uses all of their keys.
 * Container engines and isod's own are refused by view_rule_check(). */
static const struct {
	const char *pattern; /* it or what lies below */
	const char *what;
	const char *remedy;
} kept[] = {
	{ "/run/systemd", "it belongs to systemd, which starts programs outside of the sandbox", outside },
	{ "/run/dbus", "by the system's D-Bus programs are started outside of the sandbox", outside },
	{ "/run/user/*/systemd", "it belongs to systemd, which starts programs outside of the sandbox", outside },
	{ "/run/user/*/bus", "by D-Bus programs are started outside of the sandbox", outside },
	{ "/run/user/*/dbus*", "by D-Bus programs are started outside of the sandbox", outside },
	{ "/tmp/dbus-*", "by D-Bus programs are started outside of the sandbox", outside },
	{ "/tmp/tmux-*", "whoever reaches it types into terminals outside of the sandbox", outside },
	{ "/run/screen", "whoever reaches it types into terminals outside of the sandbox", outside },
	{ "/run/user/*/keyring", "it is an agent that holds all keys of the user", ssh },
	{ "/run/user/*/ssh-agent*", "it is an ssh-agent, which signs whatever it is given", ssh },
	{ "/run/user/*/openssh_agent", "it is an ssh-agent, which signs whatever it is given", ssh },
	{ "/tmp/ssh-*/agent.*", "it is an ssh-agent, which signs whatever it is given", ssh },
	{ "/**/.ssh", "it is an ssh-agent, which signs whatever it is given", ssh },
	{ "/run/user/*/gnupg", "it is a gpg-agent, which uses all keys of the user", gpg },
	{ "/**/S.gpg-agent*", "it is a gpg-agent, which uses all keys of the user", gpg },
};

static int blame(const struct policy_text *text, struct error *e, int r)
{
	if (text->origin.path && text->origin.path[0])
		snprintf(e->step, sizeof(e->step), "%s:%u: %s", text->origin.path, text->origin.line, KEY);
	else
		snprintf(e->step, sizeof(e->step), "%s", KEY);
	return r;
}

static int check(const char *path, struct error *e)
{
	/* /var/run is /run. */
	const char *real = view_path_is_within(path, "/var/run") ? path + strlen("/var") : path;

	if (strlen(path) >= LIMIT_UNIX_PATH)
		return error_set(e, ERROR_POLICY, ENAMETOOLONG, KEY, "Let the service listen at a shorter path.",
				 "The path %s is longer than %d bytes, which no program can connect to.", path,
				 LIMIT_UNIX_PATH - 1);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (path_pattern_depth(kept[i].pattern, real) > 0)
			return error_set(e, ERROR_POLICY, EPERM, KEY, kept[i].remedy, "%s cannot be lent: %s.", path,
					 kept[i].what);
	return view_rule_check(path, e);
}

/* In the spelling of the view, without the links that are known. */
static int path_of(const struct view_links *links, const struct plan_rules *rules, const char *text,
		   struct plan_built *built, const char **ret, struct error *e)
{
	char pattern[LIMIT_PATH], path[LIMIT_PATH];
	const char *copy;
	int r = policy_path_expand(text, rules->home, rules->project, pattern, sizeof(pattern), e);

	if (r == 0)
		r = path_pattern_unescape(pattern, path, sizeof(path));
	if (r < 0)
		return error_set(e, ERROR_POLICY, -r, KEY, NULL, "The path %s cannot be meant.", text);
	*ret = copy = string_list_add(&built->texts, path);
	r = copy ? view_links_resolve_path(links, copy, &built->texts, ret) : -ENOMEM;
	return r < 0 ? error_set(e, ERROR_POLICY, -r, KEY, NULL, "The path %s cannot be followed: %s.", text,
				 strerror(-r))
		     : 0;
}

static bool is_there(const struct plan_built *b, const char *path)
{
	for (size_t i = 0; i < b->plan.n_mounts; i++)
		if (b->mounts[i].type == PLAN_MAKE_SOCKET && strcmp(b->mounts[i].target, path) == 0)
			return true;
	return false;
}

int plan_sockets_build(const struct plan_input *in, const struct view_links *links, const struct plan_rules *rules,
		       struct plan_built *built, struct error *e)
{
	const struct policy_list *list = &in->policy->unix_sockets;

	for (size_t i = 0; i < list->count; i++) {
		struct plan_mount m = { .type = PLAN_MAKE_SOCKET, .target = "" };
		int r = path_of(links, rules, list->items[i].text, built, &m.target, e);

		if (r == 0)
			r = check(m.target, e);
		if (r == 0 && !is_there(built, m.target))
			r = plan_mounts_add(built, &m, e);
		if (r < 0)
			return blame(&list->items[i], e, r);
	}
	return 0;
}
