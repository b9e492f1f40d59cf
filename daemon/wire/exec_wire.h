#ifndef ISOD_WIRE_EXEC_H
#define ISOD_WIRE_EXEC_H
/*
 * isod-control  <->  isod-launch as it joins a running session (launch_join.c), on a SOCK_SEQPACKET of isod-control's
 * making, one struct exec_message a packet. isod answers on it itself where it starts nothing. End of file without
 * EXEC_FAILED or EXEC_EXITED: how the command ended is not known; to the launcher: the client is gone.
 */
#include <stdint.h>

#include "base/error.h"
#include "base/exit_kind.h"

enum exec_type {
	/* to isod-control */
	EXEC_TERMINAL = 1, /* one descriptor: the master of its pty; before STARTED */
	EXEC_STARTED,      /* exec succeeded */
	EXEC_FAILED,       /* error: nothing runs; the last word */
	EXEC_EXITED,       /* kind (CODE or SIGNAL), value; the last word */
	/* to isod-launch */
	EXEC_SIGNAL, /* value: for the command's process group */
	EXEC_TYPE_END
};

struct exec_message {
	uint32_t type; /* enum exec_type */
	uint32_t kind; /* enum exit_kind */
	int32_t value;
	struct error error;
};

#endif
