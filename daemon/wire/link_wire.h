#ifndef ISOD_WIRE_LINK_H
#define ISOD_WIRE_LINK_H
/*
 * isod-launch and, after it, pid 1 of the session  <->  isod-session. SOCK_SEQPACKET, one struct link_message a packet;
 * questions about connections and their answers up to LINK_BATCH a packet, without descriptors.
 * Either end that sees end of file or a malformed message ends the session: pid 1 exits (the kernel kills everything in
 * its pid namespace), isod-session closes every connection.
 */
#include <stdint.h>

#include "base/exit_kind.h"

enum link_type {
	/* launch / pid 1 -> session */
	LINK_LISTENERS = 1, /* descriptors in the order of enum link_listener */
	LINK_PTY,           /* one descriptor: the pty master */
	LINK_STARTED,       /* value: the program's pid in its own namespace; sent just before exec */
	LINK_STOPPED,       /* value: signal that stopped the program (WUNTRACED) */
	LINK_CONTINUED,
	LINK_EXITED, /* kind, value: of the program itself; pid 1 exits right after */
	LINK_OWNER,  /* answer to LINK_WHO: query, value = pid or 0, text = its exe or comm */
	/* session -> pid 1 */
	LINK_SIGNAL,   /* value: signal for the program's process group (the foreground group of the pty, if any) */
	LINK_CONTINUE, /* resume a stopped program, in the foreground */
	LINK_WHO,      /* query, family (AF_INET, AF_INET6), port, address = own end of a program's TCP socket; to_port,
			  to_address = what it was connected to. Or AF_UNIX with one descriptor, a connection that
			  the listener of LINK_SSH or LINK_GPG has accepted */
	LINK_HANGUP,   /* the client is gone: SIGHUP + SIGCONT to everybody, then SIGKILL after a grace of 2 s */
	/* launch, for those of the namespace pid 1 -> session */
	LINK_PORT, /* one descriptor: a listener on a loopback address, family, port its number; kind (enum
		      plan_port_way) says of which side, to_port = the port of the other one that its connections lead
		      to; before STARTED */
	/* session -> pid 1, and its answer */
	LINK_SOCKET, /* query, family (AF_INET, AF_INET6): asks for a TCP socket of the session's namespace. Answer: the
			same query, value 0 and one descriptor, or value = -errno and none */
	/* pid 1 -> session */
	LINK_LATE, /* not a struct link_message: struct late_event (late.h), late_event_size() bytes */
	LINK_SSH,  /* one descriptor: the listener at PLAN_SSH_SOCKET; before STARTED */
	LINK_GPG,  /* the same, at PLAN_GPG_SOCKET */
	LINK_UNIX, /* one descriptor: the listener of a PLAN_MAKE_SOCKET; value = the mount's index, text = its path;
		      before STARTED */
	/* launch -> session */
	LINK_CONNECTOR, /* one descriptor: SOCK_SEQPACKET to the process that connects to those of the host, before the
			   first LINK_UNIX. On it, both ways: LINK_SOCKET, asked with value = the mount's index */
	LINK_TYPE_END
};

enum link_listener {
	LISTENER_PROXY_V4,
	LISTENER_PROXY_V6,
	LISTENER_CAPTURE_V4,
	LISTENER_CAPTURE_V6,
	LISTENER_DNS_UDP_V4,
	LISTENER_DNS_UDP_V6,
	LISTENER_DNS_TCP_V4,
	LISTENER_DNS_TCP_V6,
	LISTENER_NFLOG, /* NETLINK_NETFILTER socket of the namespace, bound to NETNS_NFLOG_GROUP */
	LISTENER_COUNT
};

#define LINK_TEXT_MAX 128
#define LINK_BATCH 16

struct link_message {
	uint32_t type; /* enum link_type */
	uint32_t kind; /* enum exit_kind */
	int32_t value;
	uint32_t query;
	uint16_t family;
	uint16_t port; /* host byte order */
	uint8_t address[16];
	uint8_t to_address[16];
	uint16_t to_port; /* host byte order */
	uint16_t reserved;
	char text[LINK_TEXT_MAX]; /* terminated */
};

#endif
