/* The pump between a connection and TLS to the upstream proxy: the test is both, in one thread. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/x509v3.h>

#include "base/cleanup.h"
#include "daemon/session/gateway/proxy_tls_client.h"

enum { TURNS = 20000, BULK = 3 << 20 };

/* Of the proxy's certificate, which is its own authority; and of one that has no name but its subject's. */
static char *pem, *bare_pem;
static SSL_CTX *proxy_context, *good_context, *bare_context;
static const struct egress_proxy here = { .family = AF_INET, .address = { 10, 0, 0, 1 }, .port = 1 },
				 named = { .name = "proxy.example", .port = 1 };

static uv_loop_t loop;
static struct poller poller;
static struct deadlines deadlines;
static struct proxy_tls *tls;
static struct proxy_tls_pump *pump;
static struct watch user;
static SSL *proxy;
static int proxy_fd;
static unsigned char bulk[BULK], got[BULK];

static void on_user(struct watch *w) {}

static void ignore_poller(struct poller *p) {}

static void turn(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	if (proxy && !SSL_is_init_finished(proxy))
		SSL_do_handshake(proxy);
}

static void wait_handshake(void)
{
	for (int i = 0; i < TURNS && !SSL_is_init_finished(proxy); i++)
		turn();
	assert_true(SSL_is_init_finished(proxy));
}

/* Both ends connected, nothing said yet. */
static void begin(const struct egress_proxy *p, const char *ca)
{
	int pair[2];

	assert_int_equal(uv_loop_init(&loop), 0);
	assert_int_equal(poller_open(&poller, &loop), 0);
	deadlines_open(&deadlines, &loop);
	assert_int_equal(proxy_tls_service->open(p, ca, ca ? strlen(ca) : 0, &tls), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(poller_add(&poller, &user, pair[0], on_user), 0);
	proxy_fd = pair[1];
	proxy = SSL_new(proxy_context);
	SSL_set_fd(proxy, proxy_fd);
	SSL_set_accept_state(proxy);
	assert_int_equal(proxy_tls_service->wrap(tls, &poller, &deadlines, &user, on_user, &pump), 0);
}

static void leave(void)
{
	poller_close_watch(&poller, &user);
	proxy_tls_service->leave(pump);
	pump = NULL;
}

static void end(void)
{
	if (pump)
		leave();
	proxy_tls_service->close(tls);
	SSL_free(proxy);
	proxy = NULL;
	fd_close(proxy_fd);
	poller_close(&poller, ignore_poller);
	deadlines_close(&deadlines, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void proxy_sends(const void *data, size_t len)
{
	int r = -1;

	for (int i = 0; i < TURNS && r <= 0; i++) {
		turn();
		r = SSL_write(proxy, data, (int)len);
	}
	assert_int_equal(r, len);
}

/* What SSL_read() says at last: the bytes read, or 0 for an orderly end. */
static int proxy_reads(void *ret, size_t size)
{
	int r = -1;

	for (int i = 0; i < TURNS && r <= 0; i++) {
		turn();
		r = SSL_read(proxy, ret, (int)size);
		if (r <= 0 && SSL_get_error(proxy, r) == SSL_ERROR_ZERO_RETURN)
			return 0;
	}
	return r;
}

static ssize_t user_reads(void *ret, size_t size)
{
	ssize_t r = -1;

	for (int i = 0; i < TURNS && r < 0; i++) {
		turn();
		r = recv(user.fd, ret, size, 0);
		if (r < 0 && errno != EAGAIN)
			return -errno;
	}
	return r;
}

static void small_things(void **state)
{
	begin(&here, pem);
	/* What is said before there is TLS waits. */
	assert_int_equal(send(user.fd, "CONNECT", 7, 0), 7);
	assert_int_equal(proxy_reads(got, sizeof(got)), 7);
	assert_memory_equal(got, "CONNECT", 7);
	for (char c = 'a'; c < 'z'; c++) {
		proxy_sends(&c, 1);
		assert_int_equal(user_reads(got, sizeof(got)), 1);
		assert_int_equal(got[0], c);
		assert_int_equal(send(user.fd, &c, 1, 0), 1);
		assert_int_equal(proxy_reads(got, sizeof(got)), 1);
		assert_int_equal(got[0], c);
	}
	assert_null(proxy_tls_service->fault(pump).what);
	end();
}

/* As much as goes where nobody reads is bounded; then all of it arrives, in both directions at once. */
static void much_and_slowly(void **state)
{
	size_t up = 0, down = 0, read_up = 0, read_down = 0;
	static unsigned char back[BULK];

	begin(&named, pem);
	wait_handshake();
	for (int idle = 0; idle < 50 && up < BULK; idle++) {
		ssize_t n = send(user.fd, bulk + up, BULK - up, 0);

		turn();
		if (n > 0)
			up += (size_t)n, idle = 0;
	}
	assert_in_range(up, 1, BULK - 1);
	for (int idle = 0; idle < 50 && down < BULK; idle++) {
		int n = SSL_write(proxy, bulk + down, BULK - down > 16000 ? 16000 : (int)(BULK - down));

		turn();
		if (n > 0)
			down += (size_t)n, idle = 0;
	}
	assert_in_range(down, 1, BULK - 1);
	for (int i = 0; i < TURNS && (read_up < BULK || read_down < BULK); i++) {
		ssize_t n = recv(user.fd, back + read_down, BULK - read_down, 0);

		if (n > 0)
			read_down += (size_t)n;
		n = send(user.fd, bulk + up, BULK - up, 0);
		if (n > 0)
			up += (size_t)n;
		n = SSL_read(proxy, got + read_up, (int)(BULK - read_up));
		if (n > 0)
			read_up += (size_t)n;
		n = SSL_write(proxy, bulk + down, BULK - down > 16000 ? 16000 : (int)(BULK - down));
		if (n > 0)
			down += (size_t)n;
		turn();
	}
	assert_int_equal(read_up, BULK);
	assert_int_equal(read_down, BULK);
	assert_memory_equal(got, bulk, BULK);
	assert_memory_equal(back, bulk, BULK);
	end();
}

static void the_user_ends_first(void **state)
{
	begin(&here, pem);
	wait_handshake();
	assert_int_equal(send(user.fd, "x", 1, 0), 1);
	shutdown(user.fd, SHUT_WR);
	assert_int_equal(proxy_reads(got, sizeof(got)), 1);
	assert_int_equal(proxy_reads(got, sizeof(got)), 0);
	proxy_sends("later", 5);
	assert_int_equal(user_reads(got, sizeof(got)), 5);
	SSL_shutdown(proxy);
	assert_int_equal(user_reads(got, sizeof(got)), 0);
	assert_false(user.cut);
	end();
}

static void the_proxy_ends_first(void **state)
{
	begin(&here, pem);
	wait_handshake();
	proxy_sends("bye", 3);
	SSL_shutdown(proxy);
	assert_int_equal(user_reads(got, sizeof(got)), 3);
	assert_int_equal(user_reads(got, sizeof(got)), 0);
	assert_false(user.cut);
	assert_int_equal(send(user.fd, "more", 4, 0), 4);
	assert_int_equal(proxy_reads(got, sizeof(got)), 4);
	shutdown(user.fd, SHUT_WR);
	assert_int_equal(proxy_reads(got, sizeof(got)), 0);
	end();
}

static void cut_in_between(void **state)
{
	begin(&here, pem);
	wait_handshake();
	proxy_sends("half", 4);
	shutdown(proxy_fd, SHUT_WR);
	assert_int_equal(user_reads(got, sizeof(got)), 4);
	assert_int_equal(user_reads(got, sizeof(got)), 0);
	assert_true(user.cut);
	assert_string_equal(proxy_tls_service->fault(pump).what, "TLS with it fails");
	end();
}

/* Bytes that are no record any more. */
static void garbage(void **state)
{
	begin(&here, pem);
	wait_handshake();
	assert_int_equal(send(proxy_fd, "HTTP/1.1 200 OK\r\n\r\n", 19, 0), 19);
	assert_int_equal(user_reads(got, sizeof(got)), 0);
	assert_true(user.cut);
	end();
}

static void what_was_sent_before_leaving_arrives(void **state)
{
	size_t sent = 0, n = 0;
	int r;

	begin(&here, pem);
	wait_handshake();
	for (int i = 0; i < 20; i++) {
		ssize_t s = send(user.fd, bulk + sent, BULK - sent, 0);

		if (s > 0)
			sent += (size_t)s;
		turn();
	}
	assert_false(proxy_tls_service->is_delivered(tls));
	leave();
	turn();
	assert_false(proxy_tls_service->is_delivered(tls));
	while ((r = proxy_reads(got + n, BULK - n)) > 0)
		n += (size_t)r;
	assert_int_equal(r, 0);
	assert_int_equal(n, sent);
	assert_memory_equal(got, bulk, sent);
	assert_true(proxy_tls_service->is_delivered(tls));
	end();
}

static void who_leaves_too_early(void **state)
{
	begin(&here, pem);
	assert_int_equal(send(user.fd, "CONNECT", 7, 0), 7);
	leave();
	for (int i = 0; i < 50; i++)
		turn();
	assert_false(SSL_is_init_finished(proxy));
	assert_true(proxy_tls_service->is_delivered(tls));
	end();
	/* And with the gateway's end, whatever is under way. */
	begin(&here, pem);
	wait_handshake();
	for (int i = 0; i < 50; i++) {
		(void)!send(user.fd, bulk, BULK, 0);
		turn();
	}
	leave();
	end();
}

static void who_is_not_trusted_hears_nothing(void **state)
{
	static const struct egress_proxy other = { .name = "other.example", .port = 1 },
					 sub = { .name = "x.proxy.example", .port = 1 },
					 elsewhere = { .family = AF_INET, .address = { 10, 0, 0, 2 }, .port = 1 };
	static const struct {
		const struct egress_proxy *proxy;
		char **trusted;
		SSL_CTX **shown;
		const char *why;
	} cases[] = {
		{ &other, &pem, &good_context, "ostname mismatch" },
		{ &other, &bare_pem, &bare_context, "ostname mismatch" },
		{ &sub, &pem, &good_context, "ostname mismatch" },
		{ &elsewhere, &pem, &good_context, "IP address mismatch" },
		{ &here, &bare_pem, &good_context, "self" },
		{ &here, NULL, &good_context, "self" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proxy_tls_fault fault;

		proxy_context = *cases[i].shown;
		begin(cases[i].proxy, cases[i].trusted ? *cases[i].trusted : NULL);
		(void)!send(user.fd, "secret", 6, 0);
		assert_true(user_reads(got, sizeof(got)) <= 0);
		assert_true(user.cut);
		fault = proxy_tls_service->fault(pump);
		assert_string_equal(fault.what, "Its certificate is not valid");
		assert_non_null(strstr(fault.why, cases[i].why));
		assert_true(SSL_read(proxy, got, sizeof(got)) <= 0);
		end();
	}
	proxy_context = good_context;
}

static void no_version_before_1_2(void **state)
{
	SSL_CTX *context;

	assert_int_equal(proxy_tls_client_context(pem, strlen(pem), &context), 0);
	assert_int_equal(SSL_CTX_get_min_proto_version(context), TLS1_2_VERSION);
	SSL_CTX_free(context);
}

static void certificates_that_are_none(void **state)
{
	static const char *const texts[] = {
		"",
		"no certificate",
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"-----BEGIN CERTIFICATE-----\nAAAA",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(proxy_tls_service->open(&here, texts[i], strlen(texts[i]), &tls), -EINVAL);
}

/* Its subject is other.example. */
static SSL_CTX *make_proxy(const char *names, char **ret_pem)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509_EXTENSION *alternative = names ? X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names) : NULL;
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	BIO *text = BIO_new(BIO_s_mem());
	char *data;
	long len;

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"other.example", -1, -1, 0);
	X509_set_issuer_name(x, name);
	if (alternative)
		X509_add_ext(x, alternative, -1);
	X509_sign(x, key, EVP_sha256());
	PEM_write_bio_X509(text, x);
	len = BIO_get_mem_data(text, &data);
	*ret_pem = strndup(data, (size_t)len);
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_use_certificate(context, x);
	SSL_CTX_use_PrivateKey(context, key);
	X509_EXTENSION_free(alternative);
	X509_free(x);
	EVP_PKEY_free(key);
	BIO_free(text);
	return context;
}

static int make_proxies(void **state)
{
	good_context = make_proxy("IP:10.0.0.1,DNS:proxy.example", &pem);
	bare_context = make_proxy(NULL, &bare_pem);
	proxy_context = good_context;
	for (size_t i = 0; i < BULK; i++)
		bulk[i] = (unsigned char)(i * 2654435761U >> 13);
	return 0;
}

static int forget_proxies(void **state)
{
	SSL_CTX_free(good_context);
	SSL_CTX_free(bare_context);
	free(pem);
	free(bare_pem);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_things),
		cmocka_unit_test(much_and_slowly),
		cmocka_unit_test(the_user_ends_first),
		cmocka_unit_test(the_proxy_ends_first),
		cmocka_unit_test(cut_in_between),
		cmocka_unit_test(garbage),
		cmocka_unit_test(what_was_sent_before_leaving_arrives),
		cmocka_unit_test(who_leaves_too_early),
		cmocka_unit_test(who_is_not_trusted_hears_nothing),
		cmocka_unit_test(no_version_before_1_2),
		cmocka_unit_test(certificates_that_are_none),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, make_proxies, forget_proxies);
}
