#ifndef ISOD_SESSION_GATEWAY_HTTP_ACCEPT_H
#define ISOD_SESSION_GATEWAY_HTTP_ACCEPT_H
#include "daemon/session/gateway/http_head.h"

/* Would the sender rather read JSON than text, by its Accept headers? Of equal weights the first counts. */
bool http_accept_prefers_json(const struct http_head *head);

#endif
