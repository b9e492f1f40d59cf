#include "daemon/control/audit/audit_exec.h"

#include "daemon/control/audit/audit_event.h"
#include "daemon/control/session.h"
#include "json/write.h"

struct start {
	const char *const *argv;
	int32_t pid;
};

static int write_start(struct json_writer *w, const void *data)
{
	const struct start *start = data;
	int r = audit_write_argv(w, start->argv);

	json_write_member_integer(w, "pid", start->pid);
	return r;
}

static int write_failed(struct json_writer *w, const void *data)
{
	const struct error *e = data;

	json_write_member_string(w, "step", e->step);
	json_write_member_string(w, "message", e->message);
	return 0;
}

static int write_exit(struct json_writer *w, const void *data)
{
	json_write_member_integer(w, "exit", *(const int *)data);
	return 0;
}

int audit_exec(struct session *s, int64_t number, const char *const *argv, int32_t pid)
{
	return audit_exec_event(s, "exec", number, write_start, &(struct start){ argv, pid });
}

void audit_exec_failed(struct session *s, int64_t number, const struct error *e)
{
	audit_exec_event(s, "exec.failed", number, write_failed, e);
}

void audit_exec_exit(struct session *s, int64_t number, enum exit_kind kind, int32_t value)
{
	audit_exec_event(s, "exec.exit", number, write_exit, &(int){ session_exit_code(kind, value) });
}
