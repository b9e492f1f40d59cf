#ifndef ISOD_WIRE_CONTEXT_H
#define ISOD_WIRE_CONTEXT_H
/*
 * What isod itself vouches for, handed to its helpers in a sealed memory file beside the plan. Nothing in here comes
 * from isod-control or a client: uid, gid and groups were read from the kernel at accept. Same build on both ends.
 */
#include <stdint.h>

#include "base/limits.h"

struct launch_context {
	uint32_t size; /* sizeof(struct launch_context) + n_groups * 4: a mismatch is fatal */
	uint32_t uid;  /* of the caller */
	uint32_t gid;
	uint32_t net_uid; /* the isod-net user: pid 1 of the session has it as real and saved uid */
	uint32_t net_gid;
	uint32_t n_cgroups;
	uint32_t flags; /* enum launch_context_flags */
	uint32_t n_groups;
	uint64_t files_soft; /* RLIMIT_NOFILE that isod was started with: the program's, not what isod raised it to */
	uint32_t groups[];   /* supplementary groups of the caller */
};

enum launch_context_flags {
	LAUNCH_HAS_LANDLOCK = 1 << 0, /* the kernel enforces Landlock: not being able to apply it is fatal */
	LAUNCH_HAS_LATE = 1 << 1,     /* so it does the late guard (linux/late/late_record.h): seen to refuse */
	LAUNCH_HAS_UNIFIED = 1 << 2,  /* the last of n_cgroups is a folder of v2, in which pid 1 is made */
};

struct session_context {
	uint32_t size;
	uint32_t net_uid;
	uint32_t net_gid;
	uint32_t uid;   /* of the caller */
	uint32_t flags; /* enum session_context_flags */
	char id[ISOD_ID_LEN + 1];
	uint8_t reserved[3];
	uint64_t record_max; /* bytes, with SESSION_HAS_RECORD */
};

enum session_context_flags {
	SESSION_HAS_LANDLOCK = 1 << 0,
	SESSION_HAS_PTY = 1 << 1, /* the link will bring a pty master */
	SESSION_HAS_SSH = 1 << 2, /* and the listener of the session's ssh-agent; this is isod-session-ssh */
	SESSION_HAS_PROXY = 1 << 3,
	SESSION_HAS_PROXY_AUTH = 1 << 4,
	SESSION_HAS_GPG = 1 << 5,       /* the link will bring the listener of the session's gpg-agent */
	SESSION_HAS_PROXY_TLS = 1 << 6, /* this is isod-session-tls */
	SESSION_HAS_PROXY_CA = 1 << 7,
	SESSION_HAS_RECORD = 1 << 8,
	SESSION_RECORD_INPUT = 1 << 9, /* what is typed, too */
	SESSION_DETACHED = 1 << 10,    /* no client starts it: output is taken, and the last of it kept, without one */
};

#endif
