#include "daemon/session/gateway/proxy_reply.h"

#include <errno.h>

#include "daemon/session/gateway/http_head.h"
#include "policy/egress.h"

ssize_t proxy_reply_parse(const char *data, size_t len, uint16_t *ret_status)
{
	struct http_head head;
	size_t used = 0;
	ssize_t n;

	if (len > PROXY_REPLY_MAX)
		len = PROXY_REPLY_MAX;
	do {
		n = http_head_response(data + used, len - used, &head);
		if (n == 0)
			return len == PROXY_REPLY_MAX ? -EMSGSIZE : 0;
		if (n < 0)
			return n == -EMSGSIZE ? n : -EBADMSG;
		used += (size_t)n;
		/* Nothing was asked that 101 would be an answer to. */
		if (head.status == 101)
			return -EBADMSG;
	} while (head.status < 200);
	*ret_status = head.status;
	return (ssize_t)used;
}

uint32_t proxy_reply_reason(uint16_t status)
{
	if (status >= 200 && status < 300)
		return EGRESS_ALLOWED;
	/* tinyproxy says 401 where the password is wrong. */
	if (status == 407 || status == 401)
		return EGRESS_PROXY_AUTH;
	/* Gateway statuses are about the host behind; 500 and 501 are about the proxy's own state. */
	if (status >= 502)
		return EGRESS_UNREACHABLE;
	return status >= 500 ? EGRESS_PROXY_UNREACHABLE : EGRESS_PROXY_REFUSED;
}
