#ifndef ISOD_CONTROL_AUDIT_GPG_H
#define ISOD_CONTROL_AUDIT_GPG_H
/* What a session's programs asked of their gpg-agent, as a line of the audit log. */
#include <stdbool.h>
#include <stddef.h>

#include "daemon/wire/session_wire.h"
#include "json/write.h"

/* m: SESSION_GPG, n bytes of it. */
bool audit_gpg_is_valid(const struct session_agent *m, size_t n);
void audit_gpg_write(struct json_writer *w, const struct session_agent *m);

#endif
