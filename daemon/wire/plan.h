#ifndef ISOD_WIRE_PLAN_H
#define ISOD_WIRE_PLAN_H
/*
 * What one session is to be: plain data, built by isod-control without system calls, bound to a connection by isod,
 * carried out by isod-launch. The order of the mounts is the order of the steps.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "view/path_rules.h"

#define PLAN_MAGIC 0x4e4c5049u /* "IPLN" */
#define PLAN_VERSION 5

enum plan_flags {
	PLAN_PTY = 1 << 0, /* the session gets a pty of its own as stdio */
	PLAN_NESTING =
		1 << 1, /* process.nesting: user namespaces and mounts inside are allowed, no Landlock file domain */
	PLAN_LATE_REQUIRED = 1 << 2, /* opens of secrets made later must be refused, else nothing starts */
	PLAN_DEGRADED = 1 << 3,      /* the administrator allows a start with rules that cannot be enforced */
	PLAN_SSH = 1 << 4,           /* the view has an ssh-agent, at PLAN_SSH_SOCKET; its folder is in the mounts */
	PLAN_PLANTS_REQUIRED =
		1 << 5,    /* the making of protected paths must be refused by the kernel, else nothing starts */
	PLAN_GPG = 1 << 6, /* the view has a gpg-agent, at PLAN_GPG_SOCKET; likewise */
};

#define PLAN_AGENT_FOLDER "/run/isod"
#define PLAN_SSH_SOCKET PLAN_AGENT_FOLDER "/ssh-agent"
#define PLAN_GPG_SOCKET PLAN_AGENT_FOLDER "/gpg-agent"

enum plan_mount_type {
	/* source, target. Opened by isod-launch with the caller's ids, no symlink in the last component followed unless
	 * PLAN_MOUNT_FOLLOW. A file or a folder, recursive. */
	PLAN_MOUNT_BIND = 1,
	PLAN_MOUNT_TMPFS,   /* target, mode, size (bytes, 0 = half of memory) */
	PLAN_MOUNT_PROC,    /* target; own pid namespace, dangerous files read-only or masked */
	PLAN_MOUNT_DEV,     /* target; null zero full random urandom tty ptmx pts shm fd stdin stdout stderr */
	PLAN_MOUNT_SYS,     /* target; read-only sysfs */
	PLAN_MOUNT_ETC,     /* target; overlay of LAUNCH_FD_ETC over the host's /etc, read-only */
	PLAN_MOUNT_SCRATCH, /* target, mode: a fresh folder of LAUNCH_FD_SCRATCH */
	PLAN_MAKE_DIR,      /* target, mode, in the view's own tmpfs */
	PLAN_MAKE_LINK,     /* target = the link, source = its content */
	/* source, target: the source's tree read, what is written goes to a layer of the session. Folders only. */
	PLAN_MOUNT_OVERLAY,
	/* source = target: a path below /dev, or a pattern of such. Character devices that the caller can open. */
	PLAN_MOUNT_DEVICE,
	/* source: a pattern (view/path_pattern.h), target: the deepest folder that holds all its matches. Looked for as
	 * the caller, bounded; each match that the caller can open is bound at its own path, unless the rules say
	 * otherwise for it. Mounts of the plan, and other matches, that lie below a match stay on top of it; what the
	 * plan mounts at its very path stands for it. */
	PLAN_MOUNT_MATCHES,
	/* target: if it is there, and the rules say so for what is there (a file or a folder, with a token or without),
	 * it cannot be read any more; deeper mounts may follow. */
	PLAN_COVER,
	PLAN_LOCK, /* the same: bound onto itself with all below, so that it cannot be moved; READ_ONLY: nor written */
	/* target: a listening Unix socket, made where the view has a folder of its own, whose connections lead to that
	 * of the host at the same path; at most LIMIT_UNIX_SOCKETS. Nothing is made in a granted folder. */
	PLAN_MAKE_SOCKET,
	PLAN_MOUNT_TYPE_END
};

enum plan_mount_flags {
	PLAN_READ_ONLY = 1 << 0,
	PLAN_NOEXEC = 1 << 1,
	/* The source may be a symlink: resolved once, as the caller, without magic links. With PLAN_GRANT, links of
	 * others than root and the caller are not followed: the start is refused. */
	PLAN_FOLLOW = 1 << 2,
	PLAN_OPTIONAL = 1 << 3, /* an absent source is skipped (ENOENT, ENOTDIR, EACCES only) */
	PLAN_OWNED = 1 << 4,    /* tmpfs, scratch, folder: owned by the caller, else by root */
	PLAN_PROJECT = 1 << 5,  /* the project root: its group decides which supplementary group is kept */
	PLAN_GRANT = 1 << 6,    /* bind, overlay, matches: a place of the user's, searched for what the rules protect */
	PLAN_KEEP = 1 << 7,     /* overlay: its layer outlives the session (isoctl diff, apply, discard); at most one */
	PLAN_MOUNT_FLAGS_ALL = (1 << 8) - 1
};
/* Every mount is nosuid and nodev (the device nodes of PLAN_MOUNT_DEV apart). */

struct plan_mount {
	uint32_t type;  /* enum plan_mount_type */
	uint32_t flags; /* enum plan_mount_flags */
	uint32_t mode;  /* permission bits */
	uint64_t size;
	const char *source; /* absolute, or the link's content; NULL where the type has none */
	const char *target; /* absolute, without . or .. or doubled slashes */
};

enum plan_port_way {
	PLAN_PORT_IN = 1, /* a port of the host's loopback leads to one of the session's */
	PLAN_PORT_OUT,    /* one of the session's to that of the host's with the same number */
	PLAN_PORT_WAY_END
};

struct plan_port {
	uint16_t way;    /* enum plan_port_way */
	uint16_t host;   /* IN: PLAN_PORT_MIN or more; 0: any that is free */
	uint16_t inside; /* 1 or more */
};

/* Below it a port says that an administrator serves it. */
#define PLAN_PORT_MIN 1024

struct plan {
	uint32_t uid;   /* whom it is for; isod compares it with the connection's peer */
	uint32_t flags; /* enum plan_flags */
	uint32_t umask; /* of the program, 0..0777 */
	uint16_t rows;  /* with PLAN_PTY */
	uint16_t columns;
	const char *id;       /* ISOD_ID_LEN hex digits */
	const char *hostname; /* of the view */
	const char *cwd;      /* absolute path in the view */
	const char *const
		*argv; /* NULL-terminated, at least one; argv[0] is looked up in PATH of envp inside the view */
	const char *const *envp; /* NULL-terminated, NAME=VALUE */
	uint32_t n_argv;
	uint32_t n_envp;
	const struct plan_mount *mounts;
	uint32_t n_mounts;
	/* All rules of the view, expanded: what is searched for at the start and refused later. */
	const struct path_rule *rules;
	uint32_t n_rules;
	const struct plan_port *ports; /* nothing is led to twice, or round and round */
	uint32_t n_ports;
};

/* Appends the wire form. -EMSGSIZE past LIMIT_PLAN. */
int plan_encode(const struct plan *plan, struct buffer *ret);

/*
 * Decodes and checks every bound: sizes, counts, known types and flags, strings with exactly one NUL at their end,
 * absolute clean targets and patterns, NAME=VALUE. The strings of *ret point into data; the arrays are one heap block,
 * *ret_block, to free(). Trailing bytes are refused. 0 or -EBADMSG (with *e filled, NULL allowed), -ENOMEM.
 */
int plan_decode(const void *data, size_t len, struct plan *ret, void **ret_block, struct error *e);

/* True where path is absolute, at most LIMIT_PATH - 1 bytes, and has no empty, "." or ".." component. "/" is clean. */
bool plan_path_is_clean(const char *path);

#endif
