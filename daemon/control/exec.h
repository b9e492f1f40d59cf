#ifndef ISOD_CONTROL_EXEC_H
#define ISOD_CONTROL_EXEC_H
/* One more command in a running session, from its call to its exit status. It lives by its channel to isod-launch
 * (daemon/wire/exec_wire.h) and ends with it, with the client's connection, or with the session. */
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"
#include "daemon/wire/plan.h"

struct connection;
struct exec;
struct session;

LIST_HEAD(exec_list, exec);

/* Asks isod; the replies follow, and c is busy until the last one. stdio: three descriptors, none with PLAN_PTY. 0, or
 * -errno with *e. */
int exec_start(struct session *s, struct connection *c, const struct plan *command, const int *stdio, size_t n_stdio,
	       struct error *e);
/* To the command's process group. number: of the started reply. -ESRCH: there is no such command any more. */
int exec_signal(struct session *s, int64_t number, int signal);
/* The client is gone: it is hung up. */
void exec_on_hang_up(struct exec *x);
/* isod says that nothing of the session is left: what was told before is read, the rest is lost. */
void exec_session_over(struct session *s);

#endif
