#ifndef ISOD_CONTROL_AUDIT_EXEC_H
#define ISOD_CONTROL_AUDIT_EXEC_H
/* What the audit log says of a command that was added to a session: "exec", then "exec.failed" or "exec.exit". */
#include <stdint.h>

#include "base/error.h"
#include "base/exit_kind.h"

struct session;

/* Before it is started. pid: of the client. 0 or -errno: nothing may be started that is not written down. */
int audit_exec(struct session *s, int64_t number, const char *const *argv, int32_t pid);
void audit_exec_failed(struct session *s, int64_t number, const struct error *e);
void audit_exec_exit(struct session *s, int64_t number, enum exit_kind kind, int32_t value);

#endif
