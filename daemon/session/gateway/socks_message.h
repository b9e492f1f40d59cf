#ifndef ISOD_SESSION_GATEWAY_SOCKS_MESSAGE_H
#define ISOD_SESSION_GATEWAY_SOCKS_MESSAGE_H
/* What a SOCKS5 client sends before its own bytes, and what it is answered (RFC 1928). No allocation. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SOCKS_VERSION_4 = 4, SOCKS_VERSION_5 = 5 };

enum socks_reply {
	SOCKS_GRANTED = 0,
	SOCKS_FAILURE = 1,
	SOCKS_NOT_ALLOWED = 2,
	SOCKS_NETWORK_UNREACHABLE = 3,
	SOCKS_HOST_UNREACHABLE = 4,
	SOCKS_REFUSED = 5,
	SOCKS_COMMAND = 7, /* not supported */
	SOCKS_ADDRESS = 8, /* this type of it is not supported */
};

enum socks_command { SOCKS_CONNECT = 1, SOCKS_BIND, SOCKS_UDP };

struct socks_request {
	uint8_t command; /* 1..255, enum socks_command where it is known */
	uint8_t family;  /* AF_INET, AF_INET6; 0: a name */
	uint8_t name_len;
	uint16_t port;       /* 0..65535 */
	uint8_t address[16]; /* of the family */
	const char *name;    /* slice of the input, 1..255 bytes of anything */
};

/* Both: bytes used, 0: more are needed, -EBADMSG. *ret_plain: the client can do without authentication. */
ssize_t socks_message_greeting(const uint8_t *data, size_t len, bool *ret_plain);
/* Also -EAFNOSUPPORT: an unknown type of address, whose end nobody knows. */
ssize_t socks_message_request(const uint8_t *data, size_t len, struct socks_request *ret);

/* Which method was chosen: none but "no authentication", or that no other will do. */
#define SOCKS_METHOD_LEN 2
void socks_message_method(bool plain, uint8_t ret[SOCKS_METHOD_LEN]);
/* No address is told: the one that was dialled is not the client's business. */
#define SOCKS_REPLY_LEN 10
void socks_message_reply(enum socks_reply code, uint8_t ret[SOCKS_REPLY_LEN]);
/* To SOCKS4: rejected. */
#define SOCKS_REPLY_4_LEN 8
void socks_message_reply_4(uint8_t ret[SOCKS_REPLY_4_LEN]);

/* What a refusal is called there. error: errno of the last attempt to connect, 0 where there was none. */
enum socks_reply socks_message_code(uint32_t reason, int error);

#endif
