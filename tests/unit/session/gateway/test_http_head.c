#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/http_facts.h"

static struct http_head head;

static char *guarded(const char *data, size_t len)
{
	static char *end;
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = 1 << 20;

	if (!end) {
		char *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_true(map != MAP_FAILED);
		assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
		end = map + room;
	}
	return memcpy(end - len, data, len);
}

static ssize_t request(const char *data, size_t len)
{
	return http_head_request(guarded(data, len), len, &head);
}

static void expect_slice(struct http_slice s, const char *text)
{
	assert_int_equal(s.len, strlen(text));
	assert_memory_equal(s.at, text, s.len);
}

static void test_request(void **state)
{
	static const char text[] = "GET /a?b HTTP/1.1\r\nHost: ok.example\r\nX-Y:\t a b \t\r\nEmpty:\r\n\r\nrest";
	size_t len = sizeof(text) - 1;

	(void)state;
	assert_int_equal(request(text, len), len - 4);
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.n_headers, 3);
	expect_slice(head.method, "GET");
	expect_slice(head.target, "/a?b");
	expect_slice(head.headers[1].name, "X-Y");
	expect_slice(head.headers[1].value, "a b");
	assert_true(head.headers[1].trailing);
	expect_slice(head.headers[2].value, "");
	for (size_t i = 0; i < len - 4; i++)
		assert_int_equal(request(text, i), 0);
}

static void test_bad_requests(void **state)
{
	static const struct {
		const char *text;
		int expected;
	} cases[] = {
		{ "\r\nGET / HTTP/1.1\r\n\r\n", -EBADMSG },
		{ " GET / HTTP/1.1\r\n\r\n", -EBADMSG },
		{ "GET  / HTTP/1.1\r\n\r\n", -EBADMSG },
		{ "GET\t/ HTTP/1.1\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1 \r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\n\n", -EBADMSG },
		{ "GET / HTTP/1.1\rX\r\n\r\n", -EBADMSG },
		{ "GET /\x01 HTTP/1.1\r\n\r\n", -EBADMSG },
		{ "GET / http/1.1\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.2\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.10\r\n\r\n", -EBADMSG },
		{ "GET /\r\n\r\n", -EBADMSG },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", -EPROTONOSUPPORT },
		{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nHost: a\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nHost: a\r\n\tfolded\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\n: a\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nHost\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", -EBADMSG },
		{ "GET / HTTP/1.1\r\nA: \x7f\r\n\r\n", -EBADMSG },
		{ "\x16\x03\x01", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ssize_t r = request(cases[i].text, strlen(cases[i].text));

		if (r != cases[i].expected)
			fail_msg("%s: %zd", cases[i].text, r);
	}
	assert_int_equal(request("GET / HTTP/1.1\r\nA: b\0c\r\n\r\n", 26), -EBADMSG);
}

static void test_bounds(void **state)
{
	static char text[LIMIT_HTTP_HEAD + 100];
	size_t n;

	(void)state;
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\n");
	for (int i = 0; i < LIMIT_HTTP_HEADERS; i++)
		n += (size_t)sprintf(text + n, "A: b\r\n");
	strcpy(text + n, "\r\n");
	assert_int_equal(request(text, n + 2), n + 2);
	strcpy(text + n, "A: b\r\n\r\n");
	assert_int_equal(request(text, n + 8), -EMSGSIZE);
	n = (size_t)sprintf(text, "GET / HTTP/1.1\r\nA: ");
	memset(text + n, 'x', sizeof(text) - n);
	assert_int_equal(request(text, LIMIT_HTTP_HEAD - 1), 0);
	assert_int_equal(request(text, sizeof(text)), -EMSGSIZE);
}

static void test_response(void **state)
{
	static const char *const good[] = { "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 \r\n\r\n",
					    "HTTP/1.0 404\r\n\r\n" };
	static const char *const bad[] = { "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 099 \r\n\r\n", "HTTP/1.1 700 \r\n\r\n",
					   "HTTP/1.1  200\r\n\r\n",  "ICY 200 OK\r\n\r\n",    "HTTP/1.1 2000\r\n\r\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		size_t len = strlen(good[i]);

		assert_int_equal(http_head_response(guarded(good[i], len), len, &head), len);
		for (size_t k = 0; k < len; k++)
			assert_int_equal(http_head_response(guarded(good[i], k), k, &head), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(http_head_response(bad[i], strlen(bad[i]), &head), -EBADMSG);
	assert_int_equal(http_head_response("HTTP/2 200\r\n\r\n", 14, &head), -EPROTONOSUPPORT);
}

static void test_sniff(void **state)
{
	static const struct {
		const char *text;
		int expected;
	} cases[] = {
		{ "", 0 },
		{ "GET", 0 },
		{ "GET / HTTP/1.1", 0 },
		{ "GET / HTTP/1.1\r\n", 1 },
		{ "GET / HTTP/1.1\n", 1 },
		{ "\r\n\r\nGET  /\x01 HTTP/1.0 \r\n", 1 },
		{ "GET\t/\tHTTP/1.1\n", 1 },
		{ "PRI * HTTP/2.0\r\n", -EPROTO },
		{ "SSH-2.0-OpenSSH_9.2 Debian\r\n", -EPROTO },
		{ "PING\r\n", -EPROTO },
		{ "*1\r\n$4\r\nPING\r\n", -EPROTO },
		{ "\x10\x20", -EPROTO },
		{ "EHLO a.example\r\n", -EPROTO },
		{ "PROPFIND / HTTP/1.1\r\n", 1 },
		{ "get /", 0 },
		{ "VERSION-CONTRO", 0 },
		{ "GETS", -EPROTO },
		{ "GE", 0 },
		{ "GE /", -EPROTO },
		{ "GET\r\n", -EPROTO },
		{ "EHLO / HTTP/1.1\r\n", -EPROTO },
		{ "all printable and no end of the line", -EPROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);
		int r = http_head_sniff(guarded(cases[i].text, len), len);

		if (r != cases[i].expected)
			fail_msg("%s: %d", cases[i].text, r);
	}
	assert_int_equal(http_head_sniff("A \0", 3), -EPROTO);
}

static int facts(const char *headers, struct http_facts *ret)
{
	static char text[4096];
	int n = snprintf(text, sizeof(text), "%s\r\n", headers);
	ssize_t r = strncmp(text, "HTTP", 4) == 0 ? http_head_response(text, (size_t)n, &head)
						  : http_head_request(text, (size_t)n, &head);

	return r > 0 ? http_facts_read(&head, ret) : (int)r;
}

#define POST "POST / HTTP/1.1\r\nHost: a\r\n"

static void test_bad_framing(void **state)
{
	static const char *const bad[] = {
		POST "Content-Length: 46\r\nContent-Length: 0\r\n",
		POST "Content-Length: +5\r\n",
		POST "Content-Length: -5\r\n",
		POST "Content-Length: 5,5\r\n",
		POST "Content-Length: 0x5\r\n",
		POST "Content-Length: 5 \r\n",
		POST "Content-Length:\r\n",
		POST "Content-Length: 12345678901234567890\r\n",
		POST "Content-Length: 99999999999999999999\r\n",
		POST "Transfer-Encoding: chunked\t\r\n",
		POST "Transfer-Encoding: identity, chunked\r\n",
		POST "Transfer-Encoding: chunked, identity\r\n",
		POST "Transfer-Encoding: xchunked\r\n",
		POST "Transfer-Encoding: Chunked\r\n",
		POST "Transfer-Encoding: \"chunked\"\r\n",
		POST "Transfer-Encoding:\r\n",
		POST "Transfer-Encoding:\vchunked\r\n",
		POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
		POST "Transfer-Encoding:\r\n chunked\r\n",
		POST "Transfer-Encoding : chunked\r\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
		POST "Host: b\r\n",
		POST "Host: a\r\n",
		POST "Connection: close, Content-Length\r\n",
		POST "Connection: Host\r\n",
		POST "Connection: transfer-encoding\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n",
	};
	struct http_facts f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (facts(bad[i], &f) != -EBADMSG)
			fail_msg("taken: %s", bad[i]);
}

static void test_framing(void **state)
{
	struct http_facts f;

	(void)state;
	assert_int_equal(facts(POST "Content-Length: 46\r\nContent-Length: 46\r\n", &f), 0);
	assert_true(f.body == HTTP_BODY_LENGTH && f.length == 46 && !f.close);
	expect_slice(f.host, "a");
	assert_int_equal(facts(POST "Transfer-Encoding: chunked\r\nConnection: x, close\r\n", &f), 0);
	assert_true(f.body == HTTP_BODY_CHUNKED && f.close);
	assert_int_equal(facts(POST "Connection: Upgrade\r\nUpgrade: WebSocket\r\n", &f), 0);
	assert_true(f.body == HTTP_BODY_NONE && f.websocket);
	assert_int_equal(facts(POST "Upgrade: websocket\r\n", &f), 0);
	assert_false(f.websocket);
	assert_int_equal(facts(POST "Connection: Upgrade\r\nUpgrade: h2c\r\n", &f), 0);
	assert_false(f.websocket);
	assert_int_equal(facts("HTTP/1.1 200 OK\r\n", &f), 0);
	assert_int_equal(f.body, HTTP_BODY_CLOSE);
	assert_int_equal(facts("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n", &f), 0);
	assert_true(f.body == HTTP_BODY_LENGTH && f.close);
}

static void test_forwarded_head(void **state)
{
	struct buffer out = BUFFER_INIT(LIMIT_HTTP_HEAD);
	struct http_facts f;

	(void)state;
	assert_int_equal(
		facts("GET http://a/x HTTP/1.1\r\nhOST: a\r\nConnection: keep-alive, X-Hop, Upgrade, HTTP2-Settings\r\n"
		      "X-Hop: 1\r\nKeep-Alive: 5\r\nProxy-Authorization: secret\r\nProxy-Connection: close\r\n"
		      "TE: trailers\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\nContent-Length: 3\r\nContent-Length: "
		      "3\r\n"
		      "Trailer: X\r\nExpect: 100-continue\r\n",
		      &f),
		0);
	assert_int_equal(
		http_facts_request(&head, &f, (struct http_slice){ "/x", 2 }, (struct http_slice){ "a:81", 4 }, &out),
		0);
	buffer_append(&out, "", 1);
	assert_string_equal(out.data, "GET /x HTTP/1.1\r\nHost: a:81\r\nContent-Length: 3\r\nTrailer: X\r\n"
				      "Expect: 100-continue\r\n\r\n");
	out.len = 0;
	assert_int_equal(facts("HTTP/1.1 200 Fine\r\nConnection: X\r\nX: 1\r\nKeep-Alive: 1\r\nY: 2\r\n", &f), 0);
	assert_int_equal(http_facts_response(&head, &f, true, &out), 0);
	buffer_append(&out, "", 1);
	assert_string_equal(out.data, "HTTP/1.1 200 Fine\r\nY: 2\r\nConnection: close\r\n\r\n");
	buffer_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request), cmocka_unit_test(test_bad_requests),
		cmocka_unit_test(test_bounds),  cmocka_unit_test(test_response),
		cmocka_unit_test(test_sniff),   cmocka_unit_test(test_bad_framing),
		cmocka_unit_test(test_framing), cmocka_unit_test(test_forwarded_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
