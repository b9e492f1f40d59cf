#include "daemon/session/nflog_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>

#include "tests/unit/guard_page.h"

#define BYTES(text) text, sizeof(text) - 1
/* version, protocol, fragment offset; from 1.2.3.4 to 10.0.0.9 */
#define V4(ihl, fragment, protocol) ihl "\0\0\x40\0\0" fragment "\x40" protocol "\0\0\1\2\3\4\x0a\0\0\x09"
#define V6(next)                                                                                                       \
	"\x60\0\0\0\0\x40" next "\x40"                                                                                 \
	"\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\1"                                                                         \
	"\xff\2\0\0\0\0\0\0\0\0\0\0\0\0\0\x16"
#define PORTS "\x12\x34\x01\xbb"

static const struct {
	const char *what;
	const char *data;
	size_t len;
	int result;
	unsigned protocol, port, family;
} packets[] = {
	{ "UDP to 443", BYTES(V4("\x45", "\0\0", "\x11") PORTS), 0, IPPROTO_UDP, 443, AF_INET },
	{ "TCP, cut before the ports", BYTES(V4("\x45", "\0\0", "\6") "\x12\x34\1"), 0, IPPROTO_TCP, 0, AF_INET },
	{ "ICMP has no port", BYTES(V4("\x45", "\0\0", "\1") PORTS), 0, IPPROTO_ICMP, 0, AF_INET },
	{ "options", BYTES(V4("\x46", "\0\0", "\x11") "\1\1\1\1" PORTS), 0, IPPROTO_UDP, 443, AF_INET },
	{ "options cut", BYTES(V4("\x4f", "\0\0", "\x11") PORTS), 0, IPPROTO_UDP, 0, AF_INET },
	{ "later fragment", BYTES(V4("\x45", "\x20\1", "\x11") PORTS), 0, IPPROTO_UDP, 0, AF_INET },
	{ "first fragment", BYTES(V4("\x45", "\x20\0", "\x11") PORTS), 0, IPPROTO_UDP, 443, AF_INET },
	{ "header shorter than a header", BYTES(V4("\x44", "\0\0", "\x11") PORTS), -EBADMSG, 0, 0, 0 },
	{ "half an IPv4 header", BYTES("\x45\0\0\x40\0\0"), -EBADMSG, 0, 0, 0 },
	{ "version 5", BYTES("\x55\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EBADMSG, 0, 0, 0 },
	{ "nothing", BYTES(""), -EBADMSG, 0, 0, 0 },
	{ "UDP over IPv6", BYTES(V6("\x11") PORTS), 0, IPPROTO_UDP, 443, AF_INET6 },
	{ "hop-by-hop, then ICMPv6", BYTES(V6("\0") "\x3a\0\1\2\3\4\5\6" PORTS), 0, IPPROTO_ICMPV6, 0, AF_INET6 },
	{ "two extensions",
	  BYTES(V6("\0") "\x3c\0\1\2\3\4\5\6"
			 "\x11\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0" PORTS),
	  0, IPPROTO_UDP, 443, AF_INET6 },
	{ "extension cut", BYTES(V6("\0") "\x11\x09\1\2\3\4\5\6"), 0, IPPROTO_HOPOPTS, 0, AF_INET6 },
	{ "later fragment over IPv6", BYTES(V6("\x2c") "\x11\0\0\x08\0\0\0\0" PORTS), 0, IPPROTO_UDP, 0, AF_INET6 },
	{ "half an IPv6 header", BYTES("\x60\0\0\0\0\x40\x11"), -EBADMSG, 0, 0, 0 },
};

static int parse_guarded(const char *data, size_t len, struct nflog_packet *ret)
{
	struct guard_page g = guard_page_new(data, len);
	int r = nflog_packet_parse((const uint8_t *)g.data, len, ret);

	guard_page_done(&g);
	return r;
}

static void test_packets(void **state)
{

	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct nflog_packet p = { 0 };
		int r = parse_guarded(packets[i].data, packets[i].len, &p);

		if (r != packets[i].result || p.protocol != packets[i].protocol || p.port != packets[i].port ||
		    p.family != packets[i].family)
			fail_msg("%s: %d, protocol %u, port %u", packets[i].what, r, p.protocol, p.port);
		if (p.family == AF_INET)
			assert_memory_equal(p.address, "\x0a\0\0\x09", 4);
		for (size_t n = 0; n < packets[i].len; n++)
			parse_guarded(packets[i].data, n, &p);
	}
}

/* NFULNL_MSG_PACKET of NFNL_SUBSYS_ULOG is type 0x400; attribute 9 is the payload. 16 + 4 + (4 + 24) bytes. */
#define NFLOG                                                                                                          \
	"\x30\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0"                                                                           \
	"\2\0\0\x3d"                                                                                                   \
	"\x1c\0\x09\0" V4("\x45", "\0\0", "\x11") PORTS
#define OTHER                                                                                                          \
	"\x14\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0"                                                                           \
	"\0\0\0\0"

static unsigned count(const char *data, size_t len)
{
	struct guard_page g = guard_page_new(data, len);
	struct nflog_packet p;
	size_t at = 0;
	unsigned n = 0;

	while (nflog_message_next((const uint8_t *)g.data, len, &at, &p))
		n++;
	assert_int_equal(at, len);
	guard_page_done(&g);
	return n;
}

static void test_messages(void **state)
{
	static const struct {
		const char *what;
		const char *data;
		size_t len;
		unsigned found;
	} messages[] = {
		{ "one", BYTES(NFLOG), 1 },
		{ "two, and another kind between", BYTES(NFLOG OTHER NFLOG), 2 },
		{ "cut", BYTES(NFLOG "\x30\0\0\0\0\4\0\0\0\0"), 1 },
		{ "length of zero", BYTES("\0\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0" NFLOG), 0 },
		{ "longer than what is there", BYTES("\xff\xff\xff\xff\0\4\0\0\0\0\0\0\0\0\0\0" NFLOG), 0 },
		{ "attribute of length zero", BYTES("\x18\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\2\0\0\x3d\0\0\x09\0" NFLOG),
		  1 },
		{ "attribute past the message", BYTES("\x18\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\2\0\0\x3d\x20\0\x09\0" NFLOG),
		  1 },
		{ "no attribute", BYTES("\x14\0\0\0\0\4\0\0\0\0\0\0\0\0\0\0\2\0\0\x3d" NFLOG), 1 },
		{ "nothing", BYTES(""), 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		unsigned n = count(messages[i].data, messages[i].len);

		if (n != messages[i].found)
			fail_msg("%s: %u", messages[i].what, n);
		for (size_t len = 0; len < messages[i].len; len++)
			assert_true(count(messages[i].data, len) <= n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_packets), cmocka_unit_test(test_messages) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
