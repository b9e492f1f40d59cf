#ifndef ISOD_CONTROL_AUDIT_EVENT_H
#define ISOD_CONTROL_AUDIT_EVENT_H
/* The events of the audit log: each one JSON object with time, session, uid, event, and what belongs to it. */
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "daemon/wire/session_wire.h"

struct audit;
struct audit_file;
struct buffer;
struct grant;
struct json_writer;
struct question;
struct session;

/* Bytes of arguments in one line; beyond, they are cut and the SHA-256 of all of them is given. */
#define AUDIT_ARGV_MAX 8192

/* Opens the session's file too. pid: of the client. 0 or -errno: nothing may be started that is not written down. */
int audit_start(struct session *s, const char *const *argv, int32_t pid);
/* Another isod-control writes from here on. */
void audit_adopted(struct session *s);
/* The session's policy is another one from here on. 0 or -errno. */
int audit_policy(struct session *s);
/* event: "grant", "revoke", "grant.used", "grant.expired". seconds: 0 = until the session ends. */
void audit_grant(struct session *s, const char *event, const struct grant *grant, uint64_t seconds);
/* A line with the members that each has, NULL without memory; and what puts it into the log. */
struct json_writer *audit_event_begin(const struct session *s, struct buffer *line, const char *event);
int audit_event_end(struct session *s, struct json_writer *w, struct buffer *line);
/* audit_question.c */
void audit_asked(struct session *s, const struct question *q);
/* answer: "yes", "no", "none" (in time), "rules" (that were changed say it). scope: of a yes, or NULL. uid: who
 * answered; UINT32_MAX: nobody. */
void audit_answered(struct session *s, const struct question *q, const char *answer, const char *scope, uint32_t uid);
void audit_start_failed(struct session *s, const struct error *e);
/* A run that was refused before its start was written: the one entry of a file of its own, which is closed then. */
void audit_refused(struct session *s, const char *const *argv, const char *project, int32_t pid, const struct error *e);
/* SESSION_CONNECTION, SESSION_DNS_DENIED, SESSION_PACKET; m is checked. */
void audit_connection(struct session *s, const struct session_connection *m);
/* What the plan leaves out, one sentence: after audit_start(), before anything else, where history_read() looks. */
void audit_lacking(struct session *s, const char *text);
/* m is checked. */
void audit_late(struct session *s, const struct late_event *m);
/* m is checked. */
void audit_budget(struct session *s, const struct session_budget *m);
/* m is checked. */
void audit_agent(struct session *s, const struct session_agent *m);
/* The file was left without an end. cut: bytes of half a line; missing: lines; broken: they are not as they were
 * written. */
void audit_resumed(struct audit *a, struct audit_file *f, uint64_t cut, uint64_t missing, bool broken);
void audit_lost(struct session *s, uint32_t count);
/* What has become of the recording: enum session_record_state, and an errno or 0. 0, or -EBADMSG. */
int audit_record(struct session *s, uint32_t state, int32_t err);
void audit_exit(struct session *s);
/* Of audit_exec.h: the members behind "exec", the command's number, are written by write. 0 or -errno. */
int audit_exec_event(struct session *s, const char *event, int64_t number,
		     int (*write)(struct json_writer *w, const void *data), const void *data);
/* The member argv; cut ones with the SHA-256 of all. 0 or -errno. */
int audit_write_argv(struct json_writer *w, const char *const *argv);

#endif
