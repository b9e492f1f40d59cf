#ifndef ISOD_WIRE_REPORT_H
#define ISOD_WIRE_REPORT_H
/*
 * isod-launch -> isod over LAUNCH_FD_REPORT, a pipe: whole structs, each one write (below PIPE_BUF, so never torn).
 *
 *   REPORT_PID1     once, by the outer process, as soon as clone3 returned. pid 1 of the session is made with
 *                   CLONE_PARENT, so it is isod's own unreaped child: its number cannot be used again before isod has
 *                   opened a pidfd for it. pid: as isod's pid namespace counts. Then the outer process exits with 0.
 *   REPORT_FAILED   at most once, by whichever process met the failure, which then exits with a non-zero status.
 *   end of file     the last holder is gone: after REPORT_PID1 and no REPORT_FAILED it means that exec succeeded (the
 *                   descriptor is close-on-exec in the program's process, and pid 1 closes its own just before it lets
 *                   the program exec). Without REPORT_PID1 it means that the launcher died: isod makes up the error.
 *
 * pid 1 must not outlive a failed start: after REPORT_FAILED isod kills it and its cgroup, whatever it does itself.
 */
#include <assert.h>
#include <limits.h>
#include <stdint.h>

#include "base/error.h"

enum launch_report_type {
	REPORT_PID1 = 1, /* pid */
	REPORT_FAILED,   /* error */
	REPORT_LATE,     /* pid: the key under which pid 1 is about to be guarded; isod removes it at the end */
	REPORT_PORT,     /* host_port of the loopback leads to inside_port; before REPORT_PID1 */
	REPORT_TYPE_END
};

struct launch_report {
	uint32_t type; /* enum launch_report_type */
	int32_t pid;
	uint16_t host_port;
	uint16_t inside_port;
	struct error error;
};

static_assert(sizeof(struct launch_report) <= PIPE_BUF, "a report must be one atomic write");

#endif
