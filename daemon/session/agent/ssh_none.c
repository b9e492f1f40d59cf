#include "daemon/session/agent/ssh.h"

const struct ssh_service *const ssh_service = NULL;
