#ifndef ISOD_SESSION_GATEWAY_TLS_HELLO_H
#define ISOD_SESSION_GATEWAY_TLS_HELLO_H
/*
 * The server name in a ClientHello, read without answering it. Hostile bytes: nothing is allocated, nothing past data +
 * len is read, and every length must fit exactly into the one around it. Handshake messages may be cut into records at
 * any byte; what follows the complete hello is not looked at.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TLS_RECORD_HANDSHAKE 0x16

/* The longest name (253) and one trailing dot. */
#define TLS_NAME_MAX 254

struct tls_hello {
	bool has_name;
	bool ech; /* encrypted_client_hello is present: real or GREASE, which look alike by design */
	uint16_t name_len;
	char name[TLS_NAME_MAX + 1]; /* as sent, not checked or canonical; terminated */
};

/*
 * > 0: the bytes up to the end of the hello, *ret is filled. 0: more bytes are needed. -EPROTO: does not begin like a
 * TLS record with a handshake. -EBADMSG: malformed. -EMSGSIZE: past LIMIT_TLS_HELLO or LIMIT_TLS_RECORDS.
 */
ssize_t tls_hello_parse(const uint8_t *data, size_t len, struct tls_hello *ret);

/* A fatal alert record, to be sent to a client that awaits a ServerHello. */
#define TLS_ALERT_ACCESS_DENIED 49
#define TLS_ALERT_INTERNAL_ERROR 80
#define TLS_ALERT_LEN 7
void tls_hello_alert(uint8_t description, uint8_t ret[TLS_ALERT_LEN]);

#endif
