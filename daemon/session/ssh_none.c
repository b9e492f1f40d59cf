#include "daemon/session/ssh.h"

const struct ssh_service *const ssh_service = NULL;
