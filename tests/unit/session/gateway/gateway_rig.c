#include "gateway_rig.h"
#include "gateway_rig_limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/events.h"
#include "daemon/session/gateway.h"
#include "daemon/session/gateway/gateway_state.h"
#include "daemon/session/dns/names.h"
#include "daemon/session/owner.h"
#include "policy/address.h"

enum { WAIT_MS = 5000, EVENTS = 4096, QUESTIONS = 4096, PROXY_PORT = 61080, CAPTURE_PORT = 61443 };

static const char *const invented[] = { "",
					"ok.example",
					"a.example",
					"b.example",
					"closed.example",
					"raw.example",
					"deny.example",
					"unlisted.example",
					"inner.example",
					"once.example",
					"far.example" };

static struct egress_rule rules_table[] = {
	{ .kind = EGRESS_RULE_HOST, .name = "ok.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "a.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "b.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "closed.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "closed.example", .port = 22 },
	{ .kind = EGRESS_RULE_HOST, .name = "inner.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "once.example", .port = 22, .once = RIG_ONCE },
	{ .kind = EGRESS_RULE_HOST, .name = "once.example", .port = 80, .once = RIG_ONCE + 1 },
	{ .kind = EGRESS_RULE_HOST, .name = "raw.example", .port = 22 },
	{ .kind = EGRESS_RULE_HOST, .name = "raw.example", .port = 8443 },
	{ .kind = EGRESS_RULE_HOST, .name = "raw.example", .port = 8080 },
	{ .kind = EGRESS_RULE_HOST, .name = "deny.example" },
	{ .kind = EGRESS_RULE_HOST, .name = "deny.example", .deny = 1, .why = "Say \"please\"." },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET, .bits = 32, .address = { 127, 0, 0, 9 } },
	{ .kind = EGRESS_RULE_ADDRESS, .family = AF_INET6, .bits = 128, .address = { [15] = 1 }, .port = 8443 },
	{ .kind = EGRESS_RULE_HOST, .name = "far.example", .port = 22 },
	{ .kind = EGRESS_RULE_HOST, .name = "far.example", .port = 8443 },
};

static struct egress_pin pins_table[] = {
	{ "a.example", 1, { { AF_INET, { 127, 0, 0, 3 } } } },
	{ "b.example", 1, { { AF_INET, { 127, 0, 0, 4 } } } },
	{ "closed.example", 1, { { AF_INET, { 127, 0, 0, 66 } } } },
	{ "ok.example", 1, { { AF_INET, { 127, 0, 0, 2 } } } },
	{ "once.example", 1, { { AF_INET, { 127, 0, 0, 7 } } } },
	/* The first one refuses, the second is tried at once. */
	{ "raw.example", 2, { { AF_INET6, { [15] = 1 } }, { AF_INET, { 127, 0, 0, 5 } } } },
};

static struct {
	uv_loop_t loop;
	uv_async_t wake;
	pthread_t thread;
	struct gateway *gateway;
	struct egress_rules rules;
	pthread_mutex_t lock;
	struct session_connection events[EVENTS];
	size_t n_events, n_taken;
	struct rig_once onces[RIG_ONCES];
	size_t n_onces;
	enum rig_owner owner;
	struct {
		owner_fn fn;
		void *data;
	} questions[QUESTIONS];
	size_t n_questions, n_answered;
	bool stop;
	uint8_t target[16];
	uint16_t target_port;
	unsigned targets_read; /* since the last rig_captured() */
} rig = { .lock = PTHREAD_MUTEX_INITIALIZER };

const struct egress_proxy *rig_upstream;

/* What the rest of isod-session would do */

const char *names_lookup(const struct names *n, int family, const uint8_t address[16])
{
	(void)n;
	if (family == AF_INET && address[0] == 198 && address[1] == 18 && address[2] == 0 && address[3] > 0 &&
	    address[3] < ARRAY_SIZE(invented))
		return invented[address[3]];
	return NULL;
}

bool names_is_invented(int family, const uint8_t address[16])
{
	return family == AF_INET && address[0] == 198 && (address[1] & 0xfe) == 18;
}

void events_connection(struct events *e, const struct session_connection *c)
{
	(void)e;
	pthread_mutex_lock(&rig.lock);
	if (rig.n_events < EVENTS)
		rig.events[rig.n_events++] = *c;
	pthread_mutex_unlock(&rig.lock);
}

void events_status(struct events *e, uint32_t type, uint32_t kind, int32_t value)
{
	(void)e;
	assert_int_equal(type, SESSION_ONCE);
	pthread_mutex_lock(&rig.lock);
	assert_true(rig.n_onces < RIG_ONCES);
	rig.onces[rig.n_onces++] = (struct rig_once){ kind, (uint32_t)value };
	pthread_mutex_unlock(&rig.lock);
}

uint32_t owner_ask(struct link *l, const struct sockaddr *peer, const uint8_t to_address[16], uint16_t to_port,
		   owner_fn fn, void *data)
{
	(void)l;
	(void)to_address;
	(void)to_port;
	assert_true(peer->sa_family == AF_INET || peer->sa_family == AF_INET6);
	if (rig.owner == RIG_OWNER_FULL || rig.n_questions == QUESTIONS)
		return 0;
	rig.questions[rig.n_questions].fn = fn;
	rig.questions[rig.n_questions++].data = data;
	uv_async_send(&rig.wake);
	return (uint32_t)rig.n_questions;
}

void owner_forget(struct link *l, uint32_t handle)
{
	(void)l;
	rig.questions[handle - 1].fn = NULL;
}

static void on_wake(uv_async_t *wake)
{
	if (rig.stop) {
		gateway_close(rig.gateway);
		rig_limits_stop();
		uv_close((uv_handle_t *)wake, NULL);
		return;
	}
	while (rig.owner == RIG_OWNER_ANSWERS && rig.n_answered < rig.n_questions) {
		size_t i = rig.n_answered++;
		owner_fn fn = rig.questions[i].fn;

		rig.questions[i].fn = NULL;
		if (fn)
			fn(rig.questions[i].data, 42, "/usr/bin/curl");
	}
}

static int given_target(int fd, int family, uint8_t ret_address[16], uint16_t *ret_port)
{
	(void)fd;
	(void)family;
	memcpy(ret_address, rig.target, 16);
	*ret_port = rig.target_port;
	__atomic_add_fetch(&rig.targets_read, 1, __ATOMIC_RELEASE);
	return 0;
}

static void *run(void *data)
{
	(void)data;
	uv_run(&rig.loop, UV_RUN_DEFAULT);
	return NULL;
}

bool rig_namespace(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int s;

	signal(SIGPIPE, SIG_IGN);
	if (unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo) < 0)
		return false;
	close(s);
	return true;
}

void rig_start(void)
{
	struct gateway_listeners l = { .proxy_v4 = rig_listen("127.0.0.1", PROXY_PORT),
				       .proxy_v6 = -1,
				       .capture_v4 = rig_listen("127.0.0.1", CAPTURE_PORT),
				       .capture_v6 = -1 };

	rig.rules = (struct egress_rules){ .rules = rules_table,
					   .n_rules = ARRAY_SIZE(rules_table),
					   .pins = pins_table,
					   .n_pins = ARRAY_SIZE(pins_table) };
	rig.stop = false;
	rig.owner = RIG_OWNER_ANSWERS;
	rig.n_onces = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rules_table); i++)
		rules_table[i].spent = false;
	rig.n_events = rig.n_taken = rig.n_questions = rig.n_answered = 0;
	assert_int_equal(egress_rules_prepare(&rig.rules), 0);
	assert_int_equal(uv_loop_init(&rig.loop), 0);
	uv_async_init(&rig.loop, &rig.wake, on_wake);
	assert_int_equal(gateway_open(&rig.loop, &rig.rules, NULL, NULL, NULL, &l, &rig.gateway), 0);
	gateway_introduce(rig.gateway, RIG_SESSION, "isoctl run");
	if (rig_upstream)
		gateway_use_proxy(rig.gateway, rig_upstream, RIG_PROXY_AUTH);
	rig.gateway->original_target = given_target;
	rig_limits_start(&rig.loop, rig.gateway, &rig.rules);
	assert_int_equal(pthread_create(&rig.thread, NULL, run, NULL), 0);
}

void rig_stop(void)
{
	rig.stop = true;
	uv_async_send(&rig.wake);
	pthread_join(rig.thread, NULL);
	assert_int_equal(uv_loop_close(&rig.loop), 0);
	free(rig.rules.by_name);
}

void rig_owner_mode(enum rig_owner mode)
{
	rig.owner = mode;
}

size_t rig_onces(struct rig_once ret[RIG_ONCES])
{
	pthread_mutex_lock(&rig.lock);
	size_t n = rig.n_onces;
	memcpy(ret, rig.onces, n * sizeof(*ret));
	pthread_mutex_unlock(&rig.lock);
	return n;
}

/* Read while the gateway's thread runs: for waiting, not for arithmetic. */
size_t rig_held(void)
{
	return *(volatile size_t *)&rig.gateway->held;
}

void rig_wait_judged(void)
{
	for (int i = 0; __atomic_load_n(&rig.targets_read, __ATOMIC_ACQUIRE) == 0; i++) {
		struct timespec ms = { .tv_nsec = 1000000 };

		assert_true(i < WAIT_MS);
		nanosleep(&ms, NULL);
	}
}

size_t rig_wait_empty(void)
{
	for (int i = 0; i < WAIT_MS; i++) {
		struct timespec ms = { .tv_nsec = 1000000 };

		/* The gateway's thread counts a connection out before it has let go of what that held. */
		if (*(volatile unsigned *)&rig.gateway->n_connections == 0 && rig_held() == 0)
			return 0;
		nanosleep(&ms, NULL);
	}
	if (rig.gateway->n_connections > 0)
		fail_msg("%u connections stay", rig.gateway->n_connections);
	return rig_held();
}

/* Sockets */

static socklen_t make_address(const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		return sizeof(*in);
	}
	assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	return sizeof(*in6);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t len = make_address("127.0.0.1", port, &a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, len), 0);
	return fd;
}

int rig_proxy(void)
{
	return connect_to(PROXY_PORT);
}

int rig_captured_address(const char *address, uint16_t port)
{
	assert_true(address_parse(address, strlen(address), rig.target) == AF_INET);
	rig.target_port = port;
	rig.targets_read = 0;
	return connect_to(CAPTURE_PORT);
}

int rig_captured(const char *name, uint16_t port)
{
	char address[32];

	for (size_t i = 1; i < ARRAY_SIZE(invented); i++)
		if (strcmp(invented[i], name) == 0) {
			snprintf(address, sizeof(address), "198.18.0.%zu", i);
			return rig_captured_address(address, port);
		}
	fail_msg("%s has no address", name);
	return -1;
}

int rig_listen(const char *address, uint16_t port)
{
	struct sockaddr_storage a;
	socklen_t len = make_address(address, port, &a);
	int fd = socket(a.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(fd, 512), 0);
	return fd;
}

static bool wait_for(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) > 0;
}

int rig_accept(int listener)
{
	int fd;

	assert_true(wait_for(listener, WAIT_MS));
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	return fd;
}

bool rig_is_quiet(int listener)
{
	return !wait_for(listener, 0);
}

void rig_send(int fd, const void *data, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = send(fd, (const char *)data + done, len - done, MSG_NOSIGNAL);

		assert_true(n > 0);
		done += (size_t)n;
	}
}

void rig_send_text(int fd, const char *text)
{
	rig_send(fd, text, strlen(text));
}

const char *rig_expect(int fd, const char *text)
{
	static char data[1 << 16];
	size_t len = 0;

	for (;;) {
		ssize_t n;

		data[len] = '\0';
		if (strstr(data, text))
			return data;
		if (len == sizeof(data) - 1 || !wait_for(fd, WAIT_MS))
			fail_msg("'%s' has not come, but: %s", text, data);
		n = recv(fd, data + len, sizeof(data) - 1 - len, 0);
		if (n <= 0)
			fail_msg("'%s' has not come before the end, but: %s", text, data);
		len += (size_t)n;
	}
}

void rig_read(int fd, void *ret, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n;

		assert_true(wait_for(fd, WAIT_MS));
		n = recv(fd, (char *)ret + done, len - done, 0);
		assert_true(n > 0);
		done += (size_t)n;
	}
}

size_t rig_read_end(int fd, const char **ret_data, bool *ret_reset)
{
	static char data[8 << 20];
	size_t len = 0;

	for (;;) {
		ssize_t n;

		assert_true(wait_for(fd, WAIT_MS));
		n = recv(fd, data + len, sizeof(data) - 1 - len, 0);
		if (n <= 0) {
			*ret_reset = n < 0 && errno == ECONNRESET;
			data[len] = '\0';
			*ret_data = data;
			return len;
		}
		len += (size_t)n;
	}
}

bool rig_wait_event(struct session_connection *ret)
{
	for (int i = 0; i < WAIT_MS; i++) {
		struct timespec ms = { .tv_nsec = 1000000 };
		bool there;

		pthread_mutex_lock(&rig.lock);
		there = rig.n_taken < rig.n_events;
		if (there)
			*ret = rig.events[rig.n_taken++];
		pthread_mutex_unlock(&rig.lock);
		if (there)
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

struct session_connection rig_event(void)
{
	struct session_connection e = { 0 };

	if (!rig_wait_event(&e))
		fail_msg("no audit event");
	return e;
}

bool rig_no_event(void)
{
	bool none;

	pthread_mutex_lock(&rig.lock);
	none = rig.n_taken == rig.n_events;
	pthread_mutex_unlock(&rig.lock);
	return none;
}

int rig_forget(void **state)
{
	(void)state;
	pthread_mutex_lock(&rig.lock);
	rig.n_taken = rig.n_events;
	rig.owner = RIG_OWNER_ANSWERS;
	pthread_mutex_unlock(&rig.lock);
	return 0;
}
