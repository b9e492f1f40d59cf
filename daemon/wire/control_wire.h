#ifndef ISOD_WIRE_CONTROL_H
#define ISOD_WIRE_CONTROL_H
/*
 * isod <-> isod-control. SOCK_SEQPACKET, one struct control_message a packet. isod trusts nothing in it: a message that
 * does not fit, a plan for another uid than the peer of .connection, an unknown connection or session: isod logs it,
 * ends isod-control and starts a new one (the sessions end with it: fail closed). Where isod-control merely dies, the
 * sessions that it kept (KEEP) live on, and the next one is given them (ADOPT).
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "daemon/wire/link_wire.h"

enum control_type {
	/* isod -> control */
	CONTROL_PEER = 1,        /* connection, uid, gid, pid; 1 descriptor: the accepted client connection */
	CONTROL_SESSION_STARTED, /* id; 1 descriptor: SOCK_SEQPACKET to isod-session (session_wire.h). exec succeeded */
	CONTROL_SESSION_FAILED,  /* id, error: nothing runs, nothing is left */
	CONTROL_SESSION_ENDED,   /* id, kind, value: no process is left, mounts and cgroup are gone */
	CONTROL_HELLO, /* value: Landlock ABI in use, 0 = none; error.message: empty, or why no session can be started
			  on this machine */
	CONTROL_LAYER, /* connection, error; answers the three CONTROL_LAYER_ calls; descriptor of OPEN: the layer's
			  upper folder, of LIST: sealed struct layer_record[] (layer.h), one without magic where there
			  is none
			*/
	CONTROL_LATE,  /* id; the kernel has refused something: kind (enum late_kind), flags (enum protect_group), value
			  (process in the session), error.message: the path from the granted folder on, which the session
			  chooses, error.step: its program; limits.pids: so many more were not told before this one, kind
			  0: and nothing else */
	CONTROL_PORT,  /* id; value of the host's loopback leads to port kind of the session; before SESSION_STARTED */
	CONTROL_ADOPT, /* id, uid: a session that an earlier isod-control has started and kept; descriptors: the same
			  channel to isod-session, what was not read from it still in it; the state of KEEP; where
			  connection is not 0 the client's connection, with its gid and pid */
	/* control -> isod */
	CONTROL_PEER_DONE, /* connection: isod may forget it */
	CONTROL_START, /* connection, id, uid, flags; descriptors: plan, egress, then stdin, stdout, stderr unless PTY,
			  then with SSH the rules and the socket of SESSION_FD_SSH and _AGENT, then with GPG those of
			  SESSION_FD_GPG and _GPG_AGENT, then with PROXY that of
			  SESSION_FD_PROXY, then with RECORD that of SESSION_FD_RECORD. error.message: with PROXY, the
			  name of the file with its password in the administrator's folder, "" = none; error.step: with
			  PROXY_TLS, that of the file with the certificates to trust there, "" = those of the system */
	CONTROL_KILL,  /* id: end the whole tree now; idempotent */
	CONTROL_LAYER_LIST,    /* connection: the layers of its peer; root's are everybody's */
	CONTROL_LAYER_OPEN,    /* connection, id, flags */
	CONTROL_LAYER_DISCARD, /* connection, id */
	CONTROL_KEEP, /* id; its client knows that it runs: it outlives this isod-control from now on. Descriptors: what
			 the next one needs to know of it, sealed, in a form that is isod-control's own; and the
			 client's connection, where its answer is still to come. In place of those of an earlier KEEP */
	CONTROL_SESSION_DONE, /* id: what SESSION_ENDED said of a kept one is written down */
	CONTROL_EXEC, /* connection, id, uid, flags (PTY alone); descriptors: the command (LAUNCH_JOIN_FD_COMMAND),
			 isod's end of a SOCK_SEQPACKET (exec_wire.h), then stdin, stdout, stderr unless PTY. What
			 becomes of it is told on that channel */
	CONTROL_TYPE_END
};

enum control_start_flags {
	CONTROL_START_PTY = 1 << 0,
	CONTROL_START_NESTING = 1 << 1, /* must equal the plan's flag; picks the seccomp filter */
	CONTROL_START_SSH = 1 << 2,     /* must equal the plan's flag */
	CONTROL_START_PROXY = 1 << 3,
	CONTROL_START_GPG = 1 << 4, /* must equal the plan's flag */
	CONTROL_START_PROXY_TLS = 1 << 5,
	CONTROL_START_RECORD = 1 << 6,
	CONTROL_START_RECORD_INPUT = 1 << 7, /* with RECORD */
	CONTROL_START_DETACHED = 1 << 8,
};

enum control_layer_flags {
	CONTROL_LAYER_ENDED = 1 << 0, /* only where the session has ended */
};

struct control_limits {
	uint64_t memory;  /* bytes, 0 = none */
	uint32_t pids;    /* 0 = none */
	uint32_t cpu_pct; /* 200 = two cores, 0 = none */
	uint64_t record;  /* bytes of the recording, with CONTROL_START_RECORD */
};

struct control_message {
	uint32_t type; /* enum control_type */
	uint32_t flags;
	uint64_t connection; /* number that isod gave at accept; never used again */
	uint32_t uid;
	uint32_t gid;
	int32_t pid;
	uint32_t kind; /* enum exit_kind */
	int32_t value;
	uint32_t late_way; /* HELLO: enum late_way (late.h) of this machine, and enum late_reason */
	uint32_t late_reason;
	char id[ISOD_ID_LEN + 4]; /* lower-case hex, terminated */
	uint32_t reserved;        /* in place of padding, which would carry a piece of the sender's stack */
	struct control_limits limits;
	struct error error;
};
static_assert(offsetof(struct control_message, limits) == offsetof(struct control_message, reserved) + 4 &&
		      sizeof(struct control_message) == offsetof(struct control_message, error) + sizeof(struct error),
	      "no padding");

#endif
