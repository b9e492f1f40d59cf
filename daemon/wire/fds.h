#ifndef ISOD_WIRE_FDS_H
#define ISOD_WIRE_FDS_H
/*
 * The fixed descriptors with which isod starts its helpers: the only definition. A helper verifies each before use
 * and closes everything else. 0, 1, 2 of isod-launch are the program's stdio (the client's pipes or /dev/null);
 * 0, 1 of isod-session are /dev/null. 2 of isod-session and isod-control is isod's log; isod-launch never writes to 2.
 */

/* isod-control */
enum control_fd {
	CONTROL_FD_MONITOR = 3, /* SOCK_SEQPACKET to isod, control_wire.h */
	CONTROL_FD_AUDIT = 4,   /* O_PATH directory, owned by the control user: audit log files */
	CONTROL_FD_CONFIG = 5,  /* O_PATH directory of the administrator's policy.json */
	CONTROL_FD_END
};

/* isod-launch */
enum launch_fd {
	LAUNCH_FD_PLAN = 3,    /* sealed: struct plan in wire form, from isod-control */
	LAUNCH_FD_CONTEXT = 4, /* sealed: struct launch_context, from isod: what isod itself vouches for */
	LAUNCH_FD_REPORT = 5,  /* pipe to isod: struct launch_report (report.h); end of file = exec succeeded */
	LAUNCH_FD_LINK = 6,    /* SOCK_SEQPACKET to isod-session, link_wire.h */
	LAUNCH_FD_RULESET = 7, /* sealed: nftables netlink batch, the same for every session */
	LAUNCH_FD_SECCOMP = 8, /* sealed: struct sock_filter[] chosen by isod for this plan's flags */
	LAUNCH_FD_ETC = 9, /* O_PATH directory: upper lower-layer of the view's /etc (whiteouts, resolv.conf, hosts) */
	LAUNCH_FD_SCRATCH = 10, /* O_PATH directory, root 0700, on disk: this session's tmp folders are made in it */
	LAUNCH_FD_LAYERS =
		11, /* O_PATH directory, root 0700, empty but for "record": "upper" and "work" of the mount
		       with PLAN_KEEP are made in it and outlive the session; /dev/null where there is none */
	/* The map and the iterator of the late guard; /dev/null without LAUNCH_HAS_LATE in the context. */
	LAUNCH_FD_LATE_SESSIONS = 12,
	LAUNCH_FD_LATE_FOLDERS = 13,
	LAUNCH_FD_CGROUP = 14, /* first of launch_context.n_cgroups ways into control groups (linux/cgroup/cgroup.h) */
	LAUNCH_CGROUPS_MAX = 8,
	LAUNCH_FD_END = LAUNCH_FD_CGROUP + LAUNCH_CGROUPS_MAX
};

/* isod-launch when it joins a session that runs: 0, 1, 2 as above, PLAN and CONTEXT those of the session's start,
 * SECCOMP likewise, the ways into its control groups from CGROUP on; what lies between is not open. */
enum launch_join_fd {
	LAUNCH_JOIN_FD_CHANNEL = 5, /* SOCK_SEQPACKET to isod-control, exec_wire.h */
	LAUNCH_JOIN_FD_PID1 = 6,    /* pidfd of the session's pid 1 */
	LAUNCH_JOIN_FD_COMMAND = 7, /* sealed: struct plan in wire form without mounts: arguments, variables that are
				       added, folder, pty */
};

/* What pid 1 keeps open for who joins later, taken by pidfd_getfd(2); each lies where it needs its own no more. */
enum launch_kept_fd {
	LAUNCH_KEPT_LANDLOCK = LAUNCH_FD_PLAN, /* the ruleset; not open without Landlock or with PLAN_NESTING */
	LAUNCH_KEPT_STATE = LAUNCH_FD_CONTEXT, /* sealed: struct launch_kept (launch_join.h) */
};

/* isod-session */
enum session_fd {
	SESSION_FD_CONTROL = 3,   /* SOCK_SEQPACKET to isod-control, session_wire.h */
	SESSION_FD_LINK = 4,      /* SOCK_SEQPACKET to isod-launch / pid 1 of the session, link_wire.h */
	SESSION_FD_AGENT = 5,     /* stream socket to the caller's ssh-agent; /dev/null without SESSION_HAS_SSH */
	SESSION_FD_GPG_AGENT = 6, /* stream socket to the caller's gpg-agent; /dev/null without SESSION_HAS_GPG */
	SESSION_FD_RECORD = 7,    /* the caller's file, for appending; /dev/null without SESSION_HAS_RECORD */
	SESSION_FD_EGRESS = 8,    /* sealed: egress rules in wire form (policy/egress_wire.h), from isod-control */
	SESSION_FD_CONTEXT = 9,   /* sealed: struct session_context, from isod */
	SESSION_FD_SECCOMP = 10,  /* sealed: struct sock_filter[], the filter of isod-session itself */
	SESSION_FD_SSH = 11,      /* sealed: what of the agent is lent (sshagent/ssh_rules.h); /dev/null likewise */
	/* Sealed: the upstream proxy (policy/egress_proxy.h), and "user:password" for it; /dev/null without
	 * SESSION_HAS_PROXY and _PROXY_AUTH. */
	SESSION_FD_PROXY = 12,
	SESSION_FD_PROXY_AUTH = 13,
	SESSION_FD_GPG = 14, /* sealed: which keys of the gpg-agent (gpgagent/gpg_rules.h); /dev/null likewise */
	SESSION_FD_PROXY_CA =
		15, /* sealed: PEM, whom to trust to be that proxy; /dev/null without SESSION_HAS_PROXY_CA */
	SESSION_FD_END
};

#endif
