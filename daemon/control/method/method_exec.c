#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/dispatch.h"
#include "daemon/control/exec.h"
#include "daemon/control/session.h"
#include "daemon/control/stdio_check.h"
#include "proto/schema.h"

#define TERM_MAX 256

static int check_form(const struct call *call, const struct exec_parameters *p, struct error *e)
{
	if (p->argv.count == 0 || p->argv.items[0][0] == '\0')
		return error_set(e, ERROR_INVALID, EINVAL, "argv", NULL, "There is no command.");
	if (p->cwd && !plan_path_is_clean(p->cwd))
		return error_set(e, ERROR_INVALID, EINVAL, "cwd", "Write it from / on, without . and ..",
				 "The working directory must be an absolute path.");
	if (call->n_fds != (p->has_terminal ? 0 : 3))
		return error_set(e, ERROR_INVALID, EINVAL, "descriptors", NULL,
				 "Exec needs three descriptors (stdin, stdout, stderr), and with a terminal none.");
	return p->has_terminal ? 0 : stdio_check(call->fds, call->n_fds, e);
}

static int check_session(const struct connection *c, const struct session *s, struct error *e)
{
	if (s->uid != c->uid)
		return error_set(e, ERROR_REFUSED, EPERM, "session", "Run it as that user.",
				 "Only the user of a session can add commands to it.");
	if (s->state == SESSION_STARTING)
		return error_set(e, ERROR_REFUSED, EAGAIN, "session", "Try again once it runs.",
				 "The session is only starting.");
	if (s->state == SESSION_ENDED || s->cause != CAUSE_NONE)
		return error_set(e, ERROR_REFUSED, ESRCH, "session", "See `isoctl sessions`.",
				 "The session has ended.");
	return 0;
}

int method_exec(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	const struct exec_parameters *p = parameters;
	struct session *s = registry_find(&c->control->registry, c->uid, p->session, e);
	char term[TERM_MAX + sizeof("TERM=")];
	const char *envp[] = { term, NULL };
	struct plan command = {
		.uid = c->uid,
		.umask = 022, /* not looked at: the session's holds */
		.argv = (const char *const *)p->argv.items,
		.n_argv = (uint32_t)p->argv.count,
		.envp = envp,
		.hostname = "isod",
	};
	int r;

	if (!s)
		return -ENOENT;
	r = check_form(call, p, e);
	if (r == 0)
		r = check_session(c, s, e);
	if (r < 0)
		return r;
	command.id = s->id;
	command.cwd = p->cwd ? p->cwd : s->cwd;
	if (p->has_terminal) {
		command.flags = PLAN_PTY;
		command.rows = (uint16_t)p->terminal.rows;
		command.columns = (uint16_t)p->terminal.columns;
	}
	if (p->has_terminal && p->term && strlen(p->term) <= TERM_MAX) {
		snprintf(term, sizeof(term), "TERM=%s", p->term);
		command.n_envp = 1;
	} else {
		envp[0] = NULL;
	}
	return exec_start(s, c, &command, call->fds, call->n_fds, e);
}
