#ifndef ISOD_CONTROL_AUDIT_SSH_H
#define ISOD_CONTROL_AUDIT_SSH_H
/* How a request to a session's ssh-agent stands in the audit log. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/wire/session_wire.h"
#include "json/write.h"

/* n: bytes received. Everything but .type is checked. */
bool audit_ssh_is_valid(const struct session_agent *m, size_t n);
/* The members from "request" on. */
void audit_ssh_write(struct json_writer *w, const struct session_agent *m);

#endif
