#ifndef ISOD_TEST_GATEWAY_RIG_H
#define ISOD_TEST_GATEWAY_RIG_H
/*
 * A gateway in a thread of its own, inside a network namespace of its own, with stand-ins for the rest of isod-session.
 * The test's thread is client and origin at once, over blocking sockets with time-outs. Every failure ends the test.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/wire/session_wire.h"
#include "policy/egress_proxy.h"

#define RIG_SESSION "0123456789abcdef"

enum { RIG_ONCES = 64, RIG_ONCE = 5 };

/* SESSION_ONCE, as it was told. */
struct rig_once {
	uint32_t kind; /* enum session_once */
	uint32_t number;
};

enum rig_owner { RIG_OWNER_ANSWERS, RIG_OWNER_SILENT, RIG_OWNER_FULL };

/* Once, before any thread: own namespace with lo up. False: not permitted here. */
bool rig_namespace(void);

/* Allowed: ok.example, a.example, b.example, closed.example (80, 443), raw.example (every port in the list of the .c),
 * inner.example (resolves to a private address), once.example to one connection each on port 22 (RIG_ONCE) and 80 (the
 * next number); far.example on 22 and 8443; deny.example is denied. All
 * pinned but inner.example and far.example. */
void rig_start(void);
/* Set before rig_start(): this proxy leads out, with that login. */
#define RIG_PROXY_AUTH "Basic bWU6c2VjcmV0"
extern const struct egress_proxy *rig_upstream;
void rig_stop(void);
void rig_owner_mode(enum rig_owner mode);
/* While nothing is under way. unlisted: enum egress_unlisted. */
void rig_unlisted(uint32_t unlisted);
/* All that was told since the start; how many. */
size_t rig_onces(struct rig_once ret[RIG_ONCES]);
/* Waits until every connection is gone; fails after 5 s. Returns the bytes that the gateway then still counts. */
size_t rig_wait_empty(void);
/* Bytes in the gateway's buffers, as it counts them. */
size_t rig_held(void);

/* Connected to the proxy port. */
int rig_proxy(void);
/* Connected to the capture port; the original target is the invented address of name, or an address. */
int rig_captured(const char *name, uint16_t port);
int rig_captured_address(const char *address, uint16_t port);

/* Waits until the last one's target has been read: only then another may be connected without its server being met. */
void rig_wait_judged(void);

int rig_listen(const char *address, uint16_t port);
int rig_accept(int listener);
/* True when nobody has connected. */
bool rig_is_quiet(int listener);

void rig_send(int fd, const void *data, size_t len);
void rig_send_text(int fd, const char *text);
/* Reads until the text has come (and perhaps more); fails after 5 s or at the end. Returns what was read, static. */
const char *rig_expect(int fd, const char *text);
/* Reads exactly len bytes. */
void rig_read(int fd, void *ret, size_t len);
/* Reads to the end of file. *ret_reset: it was a reset. Returns the number of bytes; data is static. */
size_t rig_read_end(int fd, const char **ret_data, bool *ret_reset);

/* The next audit event; fails after 5 s. */
struct session_connection rig_event(void);
bool rig_wait_event(struct session_connection *ret);
bool rig_no_event(void);
/* A cmocka set-up function: what an earlier, failed test left behind is not counted. */
int rig_forget(void **state);

#endif
