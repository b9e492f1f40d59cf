#include "daemon/session/gateway/proxy_tls_client.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

/* Not the default paths of libcrypto: those would follow the environment. The folder is looked into as certificates
 * are met. */
static void trust_system(X509_STORE *store)
{
	(void)X509_STORE_load_locations(store, X509_get_default_cert_file(), NULL);
	(void)X509_STORE_load_locations(store, NULL, X509_get_default_cert_dir());
	ERR_clear_error();
}

static int trust_only(X509_STORE *store, const void *ca, size_t len)
{
	BIO *bio = len <= INT_MAX ? BIO_new_mem_buf(ca, (int)len) : NULL;
	unsigned n = 0;
	X509 *one;
	int r = bio ? 0 : -ENOMEM;

	while (r == 0 && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL))) {
		r = X509_STORE_add_cert(store, one) == 1 ? 0 : -ENOMEM;
		X509_free(one);
		n++;
	}
	/* The last call finds no beginning any more; anything else is a certificate that cannot be read. */
	if (r == 0 && (n == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE))
		r = -EINVAL;
	ERR_clear_error();
	BIO_free(bio);
	return r;
}

int proxy_tls_client_context(const void *ca, size_t ca_len, SSL_CTX **ret)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	int r;

	if (!context || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(context);
		return -ENOMEM;
	}
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	/* What waits to be written may be moved between two attempts; a quiet connection owns no buffers. */
	SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_read_ahead(context, 1);
	if (ca) {
		r = trust_only(SSL_CTX_get_cert_store(context), ca, ca_len);
		if (r < 0) {
			SSL_CTX_free(context);
			return r;
		}
	} else {
		trust_system(SSL_CTX_get_cert_store(context));
	}
	*ret = context;
	return 0;
}

SSL *proxy_tls_client_new(SSL_CTX *context, const struct egress_proxy *proxy, int fd)
{
	SSL *ssl = SSL_new(context);
	X509_VERIFY_PARAM *verify = ssl ? SSL_get0_param(ssl) : NULL;
	int r;

	if (!ssl)
		return NULL;
	/* By the names that certificates have for this, as browsers do: not by a common name, not by half a label. */
	X509_VERIFY_PARAM_set_hostflags(verify,
					X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (proxy->name)
		r = X509_VERIFY_PARAM_set1_host(verify, proxy->name, 0) == 1 &&
		    SSL_set_tlsext_host_name(ssl, proxy->name) == 1;
	else
		r = X509_VERIFY_PARAM_set1_ip(verify, proxy->address, proxy->family == AF_INET ? 4 : 16) == 1;
	if (r && SSL_set_fd(ssl, fd) == 1) {
		SSL_set_connect_state(ssl);
		return ssl;
	}
	SSL_free(ssl);
	return NULL;
}

struct proxy_tls_fault proxy_tls_client_fault(const SSL *ssl)
{
	long verify = SSL_get_verify_result(ssl);
	const char *why = ERR_reason_error_string(ERR_peek_last_error());

	if (verify != X509_V_OK)
		return (struct proxy_tls_fault){ "Its certificate is not valid",
						 X509_verify_cert_error_string(verify) };
	return (struct proxy_tls_fault){ "TLS with it fails", why ? why : "it has closed the connection" };
}
