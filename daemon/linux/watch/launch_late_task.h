#ifndef ISOD_LINUX_LAUNCH_LATE_TASK_H
#define ISOD_LINUX_LAUNCH_LATE_TASK_H
/* The thread of the session whose open waits for pid 1's answer. */
#include <stdbool.h>
#include <sys/types.h>

/*
 * It is in an open that can only write. Read from the registers of its system call, which
 * it cannot change while it waits; flags that lie in memory (openat2) are not believed, and false is the answer in all
 * doubt: another user's or a non-dumpable process, another architecture's call.
 */
bool launch_late_task_only_writes(pid_t thread);
/* The same from the text of /proc/TID/syscall. */
bool launch_late_task_writes(const char *text);

/* The process that the thread belongs to; thread itself where that cannot be told. */
pid_t launch_late_task_process(pid_t thread);

#endif
