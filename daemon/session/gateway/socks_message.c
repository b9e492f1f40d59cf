#include "daemon/session/gateway/socks_message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "policy/egress.h"

enum { METHOD_PLAIN = 0, METHOD_NONE = 0xff };
enum { TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4 };
/* Version, command, reserved, type of the address. */
enum { REQUEST_FIXED = 4, PORT = 2 };

ssize_t socks_message_greeting(const uint8_t *data, size_t len, bool *ret_plain)
{
	size_t n;

	if (len >= 1 && data[0] != SOCKS_VERSION_5)
		return -EBADMSG;
	if (len < 2)
		return 0;
	n = data[1];
	if (n == 0)
		return -EBADMSG;
	if (len < 2 + n)
		return 0;
	*ret_plain = memchr(data + 2, METHOD_PLAIN, n) != NULL;
	return (ssize_t)(2 + n);
}

ssize_t socks_message_request(const uint8_t *data, size_t len, struct socks_request *ret)
{
	size_t at = REQUEST_FIXED, n;

	if ((len >= 1 && data[0] != SOCKS_VERSION_5) || (len >= 2 && data[1] == 0) || (len >= 3 && data[2] != 0))
		return -EBADMSG;
	/* With the first byte of the address, which may be the name's length. */
	if (len < REQUEST_FIXED + 1)
		return 0;
	*ret = (struct socks_request){ .command = data[1] };
	switch (data[3]) {
	case TYPE_IPV4:
		ret->family = AF_INET;
		n = 4;
		break;
	case TYPE_IPV6:
		ret->family = AF_INET6;
		n = 16;
		break;
	case TYPE_NAME:
		n = data[at++];
		if (n == 0)
			return -EBADMSG;
		ret->name = (const char *)data + at;
		ret->name_len = (uint8_t)n;
		break;
	default:
		return -EAFNOSUPPORT;
	}
	if (len - at < n + PORT)
		return 0;
	if (ret->family != 0)
		memcpy(ret->address, data + at, n);
	ret->port = (uint16_t)(data[at + n] << 8 | data[at + n + 1]);
	return (ssize_t)(at + n + PORT);
}

void socks_message_method(bool plain, uint8_t ret[SOCKS_METHOD_LEN])
{
	ret[0] = SOCKS_VERSION_5;
	ret[1] = plain ? METHOD_PLAIN : METHOD_NONE;
}

void socks_message_reply(enum socks_reply code, uint8_t ret[SOCKS_REPLY_LEN])
{
	memset(ret, 0, SOCKS_REPLY_LEN);
	ret[0] = SOCKS_VERSION_5;
	ret[1] = (uint8_t)code;
	ret[3] = TYPE_IPV4;
}

void socks_message_reply_4(uint8_t ret[SOCKS_REPLY_4_LEN])
{
	memset(ret, 0, SOCKS_REPLY_4_LEN);
	ret[1] = 91;
}

enum socks_reply socks_message_code(uint32_t reason, int error)
{
	switch (reason) {
	case EGRESS_UNRESOLVED:
		return SOCKS_HOST_UNREACHABLE;
	case EGRESS_UNREACHABLE:
		return error == ECONNREFUSED  ? SOCKS_REFUSED
		       : error == ENETUNREACH ? SOCKS_NETWORK_UNREACHABLE
					      : SOCKS_HOST_UNREACHABLE;
	case EGRESS_LIMIT:
	case EGRESS_RATE:
	case EGRESS_TIMEOUT:
	case EGRESS_BAD_SOCKS:
	case EGRESS_PROXY_UNREACHABLE:
	case EGRESS_PROXY_AUTH:
		return SOCKS_FAILURE;
	default:
		return SOCKS_NOT_ALLOWED;
	}
}
