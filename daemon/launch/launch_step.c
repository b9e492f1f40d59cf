#include "daemon/launch/launch_step.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* What helps wherever the kernel answers so, unless the step knows better. */
static const struct {
	int err;
	const char *remedy;
} remedies[] = {
	{ EPERM,
	  "isod has the capabilities for it: look for a system call filter (Seccomp: in /proc/PID/status of isod) or a "
	  "security module (/proc/PID/attr/current) that forbids it." },
	{ EACCES, "Look for a security module (/proc/PID/attr/current of isod) that forbids it." },
	{ ENOSYS, "Use Linux 5.14 or later, and no system call filter around isod." },
	{ EOPNOTSUPP, "Look into the configuration of the kernel: a part of it is missing." },
	{ ENOMEM, "Free memory, or raise the memory limit of isod." },
	{ ENOSPC, "Look for room on the disk of isod's state folder, and at user.max_*_namespaces in /proc/sys." },
	{ EMFILE, "Raise the limit of open files of isod (LimitNOFILE)." },
	{ ENFILE, "Raise fs.file-max in /proc/sys." },
	{ EAGAIN, "Raise the limits of processes (pids.max, RLIMIT_NPROC) around isod." },
};

static void add_remedy(struct error *e)
{
	if (e->code != ERROR_SANDBOX_UNAVAILABLE || e->remedy[0])
		return;
	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++)
		if (remedies[i].err == e->err)
			snprintf(e->remedy, sizeof(e->remedy), "%s", remedies[i].remedy);
	if (!e->remedy[0])
		snprintf(e->remedy, sizeof(e->remedy), "Look into the log of isod and of the kernel.");
}

int launch_step_run(const struct launch_step *steps, size_t n, struct launch *launch, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = steps[i].run(launch, e);

		if (r >= 0)
			continue;
		launch_step_fail(e, -r, NULL, "The step \"%s\" failed: %s.", steps[i].name, strerror(-r));
		if (!e->step[0])
			snprintf(e->step, sizeof(e->step), "%s", steps[i].name);
		add_remedy(e);
		return r;
	}
	return 0;
}
