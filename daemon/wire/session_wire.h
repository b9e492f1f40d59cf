#ifndef ISOD_WIRE_SESSION_H
#define ISOD_WIRE_SESSION_H
/*
 * isod-session <-> isod-control. SOCK_SEQPACKET, one struct a packet, chosen by .type. Every text is produced by
 * isod-session itself from normalised values (host names in canonical form, program names cut and escaped by the
 * writer): control treats a malformed message as the end of that session.
 */
#include <stdint.h>

#include "base/limits.h"
#include "daemon/wire/late.h"
#include "daemon/wire/link_wire.h"

#define SESSION_NAME_MAX 256    /* canonical host name, at most 253 bytes */
#define SESSION_PROGRAM_MAX 128 /* exe path's tail */

enum session_type {
	/* session -> control */
	SESSION_CONNECTION = 1, /* struct session_connection: once, when a connection ended or was refused */
	SESSION_DNS_DENIED,     /* struct session_connection: name, reason, via = VIA_DNS */
	SESSION_PACKET,         /* struct session_connection: a packet refused by nft; via = VIA_PACKET, protocol set */
	SESSION_LOST,           /* struct session_status: value = events that could not be queued */
	SESSION_EXITED,         /* struct session_status: after the pty's last byte was handed over */
	SESSION_STOPPED,        /* struct session_status: value = signal */
	SESSION_CONTINUED,
	SESSION_STARTED, /* struct session_status: value = pid in the namespace */
	/* control -> session */
	SESSION_ATTACH, /* struct session_status, 1 descriptor: client connection, raw frames from now on
			   (proto/stream.h); rows << 16 | columns in value; kind = enum session_attach_flags */
	SESSION_SIGNAL, /* struct session_status: value = signal */
	SESSION_ENDING, /* struct session_status: kind, value: why isod-control is about to have the session killed. It
			   is what the client's EXIT frame and SESSION_EXITED say unless the program's own exit comes
			   first */
	/* session -> control */
	SESSION_LATE, /* struct late_event (late.h), late_event_size() bytes */
	SESSION_SSH,  /* struct session_agent */
	/* control -> session */
	SESSION_RULES, /* struct session_status, 1 descriptor: sealed egress rules (policy/egress_wire.h) that hold from
			  now on, for open connections too; value = their generation, at least 1 */
	/* session -> control */
	SESSION_RULES_DONE, /* struct session_status: value = the generation that holds now, kind = connections that
			       were closed for it */
	SESSION_USAGE,   /* struct session_usage: how much of each budget is used; only as many accounts as .n says */
	SESSION_BUDGET,  /* struct session_budget: one is used up, and there was more */
	SESSION_GPG,     /* struct session_agent */
	SESSION_ONCE,    /* struct session_status: value = the number of a rule for one connection, kind = enum
			    session_once */
	SESSION_RECORD,  /* struct session_status: kind = enum session_record_state, value = errno or 0 */
	SESSION_CLIENTS, /* struct session_status: value = clients that are attached, kind = 1 where one drives; told
			    where it is no longer the client of Run alone */
	SESSION_LAST,    /* struct session_last: what was to be seen at the end, in pieces, before SESSION_EXITED */
	/* control -> session */
	SESSION_OUTPUT, /* struct session_status, 1 descriptor: the end of a pipe to read, kind = 1 stdout, 2 stderr; of
			   a session with SESSION_DETACHED (context.h) and no terminal, once each */
	/* session -> control */
	SESSION_ASKED,    /* struct session_question: the owner is to be asked; one for each host at a time */
	SESSION_ASK_OVER, /* struct session_status: value = number of a question that needs no answer any more, kind =
			     enum session_question_end */
	/* control -> session */
	SESSION_ANSWER, /* struct session_status: value = number of a question, kind = enum session_answer. Where it is
			   yes, the rules that allow it were sent before */
	SESSION_TYPE_END
};

/* 0 is the client of Run in the foreground: by leaving it hangs the session up. */
enum session_attach_flags {
	SESSION_ATTACH_WATCH = 1 << 0, /* output only; else it wants to drive */
	SESSION_ATTACH_TAKE = 1 << 1,  /* even where another drives */
	SESSION_ATTACH_STAYS = 1 << 2, /* the session goes on without it */
};

enum session_question_end { QUESTION_LAPSED = 1, QUESTION_MOOT /* the rules say what is to be done with it now */ };

enum session_answer { ANSWER_YES = 1, ANSWER_NO };

enum session_via {
	VIA_CONNECT = 1,
	VIA_HTTP,
	VIA_CAPTURE,
	VIA_DNS,
	VIA_PACKET,
	VIA_SOCKS,
	VIA_PUBLISH,
	VIA_HOST_PORT,
	VIA_UNIX_SOCKET, /* .name is its path */
	VIA_COUNT
};

/* What has become of the recording, each once. */
enum session_record_state {
	RECORD_CUT = 1, /* it has reached its size */
	RECORD_BEHIND,  /* parts are missing: its disk is too slow */
	RECORD_FAILED,  /* a write failed, there is no more of it */
	RECORD_STATE_END
};

enum session_once { ONCE_USED = 1, ONCE_OVER /* the connection that had it has ended */ };

struct session_status {
	uint32_t type;
	uint32_t kind; /* enum exit_kind, where its type says nothing else */
	int32_t value;
	uint32_t reserved;
};

/* Account 0 is the session, account i + 1 entry i of network.budget.hosts. */
struct session_usage {
	uint32_t type;
	uint32_t n;
	uint32_t generation; /* of the rules that the accounts are of */
	uint32_t reserved;
	uint64_t bytes[LIMIT_EGRESS_BUDGETS + 1][2]; /* out, in */
};

struct session_budget {
	uint32_t type;
	uint32_t account;
	uint32_t generation;
	uint32_t direction; /* enum egress_direction, policy/egress.h */
	uint64_t limit;
};

#define SESSION_LAST_PIECE 4096

/* Only as many bytes as .len says. */
struct session_last {
	uint32_t type;
	uint32_t stream; /* STREAM_STDOUT or STREAM_STDERR (proto/stream.h): where it is to be shown */
	uint32_t len;
	uint32_t reserved;
	char data[SESSION_LAST_PIECE];
};

#define SESSION_FINGERPRINT_MAX 52

/* What a program asked of its ssh-agent or gpg-agent. */
struct session_agent {
	uint32_t type;
	uint32_t request; /* enum ssh_request_kind, sshagent/ssh_request.h; enum gpg_request_kind */
	uint32_t reason;  /* enum ssh_reason, sshagent/ssh_verdict.h; enum gpg_reason; 0: it was done */
	uint32_t pid;     /* in the session's namespace, or 0 */
	uint64_t count;   /* how many like it, one after the other, this stands for */
	uint32_t keys;    /* a list: so many were shown */
	uint32_t code;    /* of another request: its type in the protocol */
	char fingerprint[SESSION_FINGERPRINT_MAX]; /* of the key that was to sign, or of the host; a keygrip */
	char target[SESSION_NAME_MAX];             /* host, namespace; hash, command; "" = not known */
	char program[SESSION_PROGRAM_MAX];
	uint32_t reserved;
};

/* May the session reach name? */
struct session_question {
	uint32_t type;
	uint32_t number; /* at least 1, each one larger than the one before */
	uint32_t via;    /* enum session_via: of the first connection that is held for it */
	uint32_t pid;    /* in the session's namespace, or 0 */
	uint16_t port;
	uint16_t reserved[3];
	char name[SESSION_NAME_MAX]; /* canonical host name */
	char program[SESSION_PROGRAM_MAX];
};

struct session_connection {
	uint32_t type;
	uint32_t via;      /* enum session_via */
	uint32_t allowed;  /* 0 or 1 */
	uint32_t reason;   /* enum egress_reason, policy/egress.h */
	uint32_t rule;     /* index of the deciding rule, or UINT32_MAX */
	uint32_t pid;      /* in the session's namespace, or 0 */
	uint32_t protocol; /* IPPROTO_* */
	uint16_t family;   /* of address: the one dialled, or that a refused packet was for; 0 = none */
	uint16_t port;
	uint8_t address[16];
	uint32_t generation; /* of the rules that .rule is an index into; those of the start are 0 */
	uint32_t by_proxy;   /* 0 or 1: asked of the upstream proxy, which alone knows the address */
	uint32_t peer_uid;   /* VIA_PUBLISH: who connected, UINT32_MAX where it is not known; else 0 */
	uint32_t reserved;
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t duration_us;
	uint64_t count; /* how many like it this message stands for, at least 1 */
	char name[SESSION_NAME_MAX];
	char program[SESSION_PROGRAM_MAX];
};

#endif
