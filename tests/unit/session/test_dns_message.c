#include "daemon/session/dns/dns_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sys/socket.h>

#include "tests/unit/guard_page.h"

#define HEAD(flags, qd, an, ns, ar) "\xab\xcd" flags "\0" qd "\0" an "\0" ns "\0" ar
#define PLAIN HEAD("\1\0", "\1", "\0", "\0", "\0")
#define WITH_OPT HEAD("\1\0", "\1", "\0", "\0", "\1")
#define IN_A "\0\1\0\1"
#define OPT "\0\0\x29\x04\xd0\0\0\0\0\0\0"
#define BYTES(text) text, sizeof(text) - 1
#define LABEL63                                                                                                        \
	"\77"                                                                                                          \
	"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"

static const struct {
	const char *what;
	const char *data;
	size_t len;
	int result;
	const char *name; /* NULL: not looked at */
} cases[] = {
	{ "plain", BYTES(PLAIN "\7example\3org\0" IN_A), 0, "example.org" },
	{ "mixed case", BYTES(PLAIN "\7eXaMPle\3ORG\0" IN_A), 0, "example.org" },
	{ "with OPT", BYTES(WITH_OPT "\7example\3org\0" IN_A OPT), 0, "example.org" },
	{ "OPT with an option",
	  BYTES(WITH_OPT "\1a\2bc\0" IN_A "\0\0\x29\x04\xd0\0\0\0\0\0\4"
			 "abcd"),
	  0, "a.bc" },
	{ "another record before OPT",
	  BYTES(HEAD("\1\0", "\1", "\0", "\0", "\2") "\1a\2bc\0" IN_A "\xc0\x0c\0\1\0\1\0\0\0\0\0\1x" OPT), 0, "a.bc" },
	{ "trailing bytes", BYTES(PLAIN "\1a\2bc\0" IN_A "junk"), 0, "a.bc" },
	{ "root", BYTES(PLAIN "\0" IN_A), 0, "" },
	{ "a dot inside a label", BYTES(PLAIN "\3a.b\2bc\0" IN_A), 0, "" },
	{ "NUL inside a label", BYTES(PLAIN "\3a\0b\2bc\0" IN_A), 0, "" },
	{ "blank inside a label", BYTES(PLAIN "\3a b\2bc\0" IN_A), 0, "" },
	{ "bytes that are no ASCII", BYTES(PLAIN "\2\xc3\xa4\2bc\0" IN_A), 0, "" },
	{ "numbers that look like an address",
	  BYTES(PLAIN "\003127\1"
		      "0\1"
		      "0\1"
		      "1\0" IN_A),
	  0, "" },
	{ "longest label", BYTES(PLAIN LABEL63 "\2bc\0" IN_A), 0, NULL },
	{ "longest name",
	  BYTES(PLAIN LABEL63 LABEL63 LABEL63 "\75"
					      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"
					      "\0" IN_A),
	  0, NULL },
	{ "name of 256 bytes", BYTES(PLAIN LABEL63 LABEL63 LABEL63 LABEL63 "\0" IN_A), DNS_FORMERR, NULL },
	{ "pointer to itself", BYTES(PLAIN "\xc0\x0c" IN_A), DNS_FORMERR, NULL },
	{ "pointer after a label", BYTES(PLAIN "\1a\xc0\x0c" IN_A), DNS_FORMERR, NULL },
	{ "reserved label type",
	  BYTES(PLAIN "\x40"
		      "a\0" IN_A),
	  DNS_FORMERR, NULL },
	{ "name without end", BYTES(PLAIN "\1a"), DNS_FORMERR, NULL },
	{ "label longer than the rest",
	  BYTES(PLAIN "\77"
		      "a"),
	  DNS_FORMERR, NULL },
	{ "no type", BYTES(PLAIN "\1a\0"), DNS_FORMERR, NULL },
	{ "half a class", BYTES(PLAIN "\1a\0\0\1\0"), DNS_FORMERR, NULL },
	{ "no question", BYTES(HEAD("\1\0", "\0", "\0", "\0", "\0")), DNS_FORMERR, NULL },
	{ "two questions", BYTES(HEAD("\1\0", "\2", "\0", "\0", "\0") "\1a\0" IN_A "\1b\0" IN_A), DNS_FORMERR, NULL },
	{ "an answer in a query", BYTES(HEAD("\1\0", "\1", "\1", "\0", "\0") "\1a\0" IN_A), DNS_FORMERR, NULL },
	{ "an authority in a query", BYTES(HEAD("\1\0", "\1", "\0", "\1", "\0") "\1a\0" IN_A), DNS_FORMERR, NULL },
	{ "OPT is missing", BYTES(WITH_OPT "\1a\0" IN_A), DNS_FORMERR, NULL },
	{ "OPT cut", BYTES(WITH_OPT "\1a\0" IN_A "\0\0\x29\x04\xd0\0\0\0\0\0\1"), DNS_FORMERR, NULL },
	{ "OPT with a name", BYTES(WITH_OPT "\1a\0" IN_A "\1a" OPT), DNS_FORMERR, NULL },
	{ "OPT twice", BYTES(HEAD("\1\0", "\1", "\0", "\0", "\2") "\1a\0" IN_A OPT OPT), DNS_FORMERR, NULL },
	{ "EDNS version 1", BYTES(WITH_OPT "\1a\0" IN_A "\0\0\x29\x04\xd0\0\1\0\0\0\0"), DNS_BADVERS, NULL },
	{ "class CH", BYTES(PLAIN "\1a\0\0\1\0\3"), DNS_REFUSED, NULL },
	{ "opcode 5", BYTES(HEAD("\x29\0", "\1", "\0", "\0", "\0") "\1a\0" IN_A), DNS_NOTIMP, NULL },
	{ "a reply", BYTES(HEAD("\x81\0", "\1", "\0", "\0", "\0") "\1a\0" IN_A), -EBADMSG, NULL },
	{ "eleven bytes", BYTES("\xab\xcd\1\0\0\1\0\0\0\0\0"), -EBADMSG, NULL },
	{ "nothing", BYTES(""), -EBADMSG, NULL },
};

static int parse_guarded(const char *data, size_t len, struct dns_query *ret)
{
	struct guard_page g = guard_page_new(data, len);
	int r = dns_query_parse((const uint8_t *)g.data, len, ret);

	guard_page_done(&g);
	return r;
}

static void test_queries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dns_query q;
		int r = parse_guarded(cases[i].data, cases[i].len, &q);

		if (r != cases[i].result || (cases[i].name && strcmp(q.name, cases[i].name) != 0))
			fail_msg("%s: %d \"%s\"", cases[i].what, r, q.name);
		/* Cut anywhere it is something else, never a read past the end. */
		for (size_t n = 0; n < cases[i].len; n++) {
			r = parse_guarded(cases[i].data, n, &q);
			assert_true(r == -EBADMSG || r >= 0);
		}
	}
}

/* The largest reply to the largest question stays below the size that every client takes. */
static void test_reply_fits(void **state)
{
	static const char query[] =
		WITH_OPT LABEL63 LABEL63 LABEL63 "\75"
						 "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi"
						 "\0" IN_A OPT;
	static const uint8_t address[16] = { 0xfd };
	struct dns_answer a = { .type = DNS_AAAA, .ttl = 60, .address = address, .ede = DNS_EDE_BLOCKED };
	char text[400];
	uint8_t reply[DNS_REPLY_MAX] = { 0 };
	struct guard_page g = guard_page_new(reply, sizeof(reply));
	struct dns_query q;
	size_t n;

	(void)state;
	memset(text, 't', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	a.ede_text = text;
	assert_int_equal(dns_query_parse((const uint8_t *)query, sizeof(query) - 1, &q), 0);
	assert_int_equal(q.question_len, 255 + 4);
	n = dns_reply_write(&q, &a, (uint8_t *)g.data);
	assert_true(n <= DNS_REPLY_MAX);
	/* Without a record there is room for a sentence, of which no character is cut in two. */
	a.type = 0;
	assert_int_equal(dns_reply_write(&q, &a, (uint8_t *)g.data), 12 + 259 + 11 + 6 + 220);
	memcpy(text + 218, "\xe2\x82\xac", 3);
	assert_int_equal(dns_reply_write(&q, &a, (uint8_t *)g.data), 12 + 259 + 11 + 6 + 218);
	memcpy(text + 217, "\xe2\x82\xac", 3);
	text[220] = '\0';
	assert_int_equal(dns_reply_write(&q, &a, (uint8_t *)g.data), 12 + 259 + 11 + 6 + 220);
	guard_page_done(&g);
}

static void test_reply_bytes(void **state)
{
	static const char query[] = WITH_OPT "\2Ab\1c\0" IN_A OPT;
	static const uint8_t address[16] = { 198, 18, 0, 2 };
	static const char expected[] =
		"\xab\xcd\x81\x80\0\1\0\1\0\0\0\1\2Ab\1c\0" IN_A "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\2"
		"\0\0\x29\x04\xd0\0\0\0\0\0\0";
	struct dns_answer a = { .type = DNS_A, .ttl = 60, .address = address, .ede = -1 };
	uint8_t reply[DNS_REPLY_MAX];
	struct dns_query q;

	(void)state;
	assert_int_equal(dns_query_parse((const uint8_t *)query, sizeof(query) - 1, &q), 0);
	assert_int_equal(dns_reply_write(&q, &a, reply), sizeof(expected) - 1);
	assert_memory_equal(reply, expected, sizeof(expected) - 1);

	/* Without EDNS no EDE; an unreadable question is not echoed. */
	q = (struct dns_query){ .id = 0x1234 };
	a = (struct dns_answer){ .rcode = DNS_FORMERR, .ede = DNS_EDE_BLOCKED, .ede_text = "x" };
	assert_int_equal(dns_reply_write(&q, &a, reply), 12);
	assert_memory_equal(reply, "\x12\x34\x80\x81\0\0\0\0\0\0\0\0", 12);
	/* BADVERS is 16: its upper bits are in OPT. */
	q.has_edns = true;
	a = (struct dns_answer){ .rcode = DNS_BADVERS, .ede = -1 };
	assert_int_equal(dns_reply_write(&q, &a, reply), 23);
	assert_int_equal(reply[3] & 0xf, 0);
	assert_int_equal(reply[17], 1);
}

static void test_reverse(void **state)
{
	static const char *const bad[] = {
		"in-addr.arpa",
		"1.in-addr.arpa",
		"1.2.3.in-addr.arpa",
		"1.2.3.4.5.in-addr.arpa",
		"256.0.0.1.in-addr.arpa",
		"01.0.0.1.in-addr.arpa",
		"a.0.0.1.in-addr.arpa",
		"1.2.3.4xin-addr.arpa",
		"1.2.ip6.arpa",
		"ip6.arpa",
		"g.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa",
		"example.org",
		"",
	};
	uint8_t address[16];

	(void)state;
	assert_int_equal(dns_reverse_parse("2.0.18.198.in-addr.arpa", address), AF_INET);
	assert_memory_equal(address, "\306\022\0\002", 4);
	assert_int_equal(
		dns_reverse_parse("2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.4.6.f.6.3.7.9.6.d.f.ip6.arpa", address),
		AF_INET6);
	assert_memory_equal(address, "\xfd\x69\x73\x6f\x64\0\0\0\0\0\0\0\0\0\0\2", 16);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(dns_reverse_parse(bad[i], address), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_reply_fits),
		cmocka_unit_test(test_reply_bytes),
		cmocka_unit_test(test_reverse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
