#include "daemon/control/caller.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "daemon/control/plan/view_paths.h"

/* Entries of large directories reach some kilobytes; one beyond this is broken. */
#define PASSWD_MAX (256 << 10)

void caller_done(struct caller *c)
{
	string_list_done(&c->texts);
	*c = (struct caller)CALLER_INIT;
}

int caller_set(struct caller *ret, uint32_t uid, uint32_t gid, const char *name, const char *home, const char *shell)
{
	struct caller c = CALLER_INIT;

	c.uid = uid;
	c.gid = gid;
	c.name = name ? string_list_add(&c.texts, name) : string_list_printf(&c.texts, "%u", uid);
	if (home && view_home_is_usable(home))
		c.home = string_list_add(&c.texts, home);
	else
		c.home = string_list_printf(&c.texts, "/run/user/%u", uid);
	c.shell = string_list_add(&c.texts, shell && shell[0] == '/' ? shell : "/bin/sh");
	if (!c.name || !c.home || !c.shell) {
		caller_done(&c);
		return -ENOMEM;
	}
	*ret = c;
	return 0;
}

int caller_look_up(uint32_t uid, uint32_t gid, struct caller *ret, struct error *e)
{
	_cleanup_free_ char *text = NULL;
	struct passwd entry, *found = NULL;
	size_t size = 4096;
	int r;

	do {
		char *more = realloc(text, size);

		if (!more)
			return error_set(e, ERROR_INTERNAL, ENOMEM, "user", NULL, "There is no memory left.");
		text = more;
		r = getpwuid_r(uid, &entry, text, size, &found);
		size *= 2;
	} while (r == ERANGE && size <= PASSWD_MAX);
	/* Several NSS modules say ENOENT or ESRCH for "no such user". */
	if (r != 0 && r != ENOENT && r != ESRCH)
		return error_set(e, ERROR_SANDBOX_UNAVAILABLE, r, "user",
				 "Try again; see whether `getent passwd` works on this machine.",
				 "The user database could not be read for uid %u.", uid);
	if (found)
		r = caller_set(ret, uid, gid, found->pw_name, found->pw_dir, found->pw_shell);
	else
		r = caller_set(ret, uid, gid, NULL, NULL, NULL);
	if (r < 0)
		return error_set(e, ERROR_INTERNAL, -r, "user", NULL, "There is no memory left.");
	return 0;
}
