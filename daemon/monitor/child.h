#ifndef ISOD_MONITOR_CHILD_H
#define ISOD_MONITOR_CHILD_H
/*
 * One child process, watched by its pidfd. Embedded in its owner, which must stay until on_exit was called: at that
 * moment the process is reaped, the descriptor and the handle are closed.
 */
#include <stdbool.h>
#include <sys/types.h>
#include <uv.h>

struct child {
	uv_poll_t poll;
	pid_t pid;
	int pidfd;
	bool alive; /* from child_watch() until on_exit */
	siginfo_t status;
	void (*on_exit)(struct child *);
	void *owner;
};

/*
 * pid must be an unreaped child of this process. On failure (-ECHILD where it is none, -EMFILE, ...) a child of ours is
 * killed and reaped before the return and on_exit is not called.
 */
int child_watch(struct child *c, uv_loop_t *loop, pid_t pid, void (*on_exit)(struct child *), void *owner);

/* SIGKILL, by the pidfd. Nothing happens where it is not alive. */
void child_kill(const struct child *c);
void child_signal(const struct child *c, int signal);

/* "exit code 3" or "signal 9", of a child that ended. Returns text. */
const char *child_describe(const struct child *c, char *text, size_t size);

#endif
