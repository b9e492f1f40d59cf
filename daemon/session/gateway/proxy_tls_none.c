#include "daemon/session/gateway/proxy_tls.h"

const struct proxy_tls_service *const proxy_tls_service = NULL;
