#ifndef ISOD_CONTROL_SESSION_H
#define ISOD_CONTROL_SESSION_H
/* One session, from the admitted request to its place in the history. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/exit_kind.h"
#include "base/limits.h"
#include "daemon/control/audit/audit.h"
#include "daemon/control/exec.h"
#include "daemon/control/grants.h"
#include "daemon/control/late.h"
#include "daemon/control/questions.h"
#include "daemon/control/reload.h"
#include "daemon/control/session_link.h"
#include "daemon/control/string_list.h"
#include "policy/policy.h"

struct connection;
struct control;
struct log_reader;

#define SESSION_LABEL_MAX 64 /* bytes of a session's name */
#define SESSION_ARGV_MAX 1024

/*
 *                              link   client   audit   what may happen next
 *   STARTING  sent to isod     -      waits    open    started, failed, ended, kill
 *   RUNNING   program runs     open   waits    open    exited (-> ENDED), ended, kill, signal
 *   ENDED     exit is known    -      told     closed  !gone: isod still cleans up; gone: history, read only
 *
 * A session that failed to start never reaches the history: it ends in its audit file alone.
 */
enum session_state { SESSION_STARTING, SESSION_RUNNING, SESSION_ENDED };

/* Why control itself ended it: decides how an end by SIGKILL is reported. */
enum session_cause { CAUSE_NONE, CAUSE_KILL, CAUSE_HANG_UP, CAUSE_TIME, CAUSE_FAULT };

struct session {
	LIST_ENTRY(session) entry; /* registry.live or registry.ended */
	struct control *control;
	enum session_state state;
	enum session_cause cause;
	bool gone;    /* isod has said that nothing of it is left */
	bool kept;    /* it was left with isod, for an isod-control after this one (keep.h) */
	bool adopted; /* an isod-control before this one has started it */
	bool history; /* in registry.ended */
	char id[ISOD_ID_LEN + 1];
	char name[SESSION_LABEL_MAX + 1];
	char digest[65]; /* of the policy */
	uint32_t uid;
	struct string_list argv;
	char *project;
	struct {
		uint16_t host, inside;
	} ports[LIMIT_PUBLISHED_PORTS]; /* that the host's loopback leads to, while it is live */
	unsigned n_ports;
	int64_t started; /* timestamp.h */
	int64_t ended;
	enum exit_kind exit_kind;
	int32_t exit_value;

	/* While live only. */
	struct policy policy;
	bool has_policy;
	struct session_usage *usage; /* NULL: nothing was told */
	struct reload reload;
	struct grants grants;
	struct questions questions;
	struct audit_file audit;
	struct session_link link;
	struct exec_list execs;    /* commands that were added to it */
	int64_t n_execs;           /* so far */
	char *cwd;                 /* of the program, as it is called inside */
	struct connection *client; /* that started it; NULL once it is gone */
	bool terminal;
	bool detached;    /* it was started so */
	int outputs[2];   /* with detached and no terminal: pipes to read, until isod-session has them; -1 */
	bool has_clients; /* isod-session has told the next two */
	unsigned n_clients;
	bool driven;
	uint16_t rows, columns;
	struct string_list notes;
	struct session_late late; /* the paths while it is live */
	uv_timer_t timer;         /* start limit, then wall-clock limit */
	uv_timer_t reload_timer;  /* how long the answer to .reload.awaited is waited for */
	unsigned handles;         /* of libuv, open */
	bool condemned;           /* freed with its last handle */
	LIST_HEAD(session_readers, log_reader) readers;
	LIST_HEAD(session_waiters, connection) waiters; /* method_wait.h */
	struct buffer last;                             /* session_last.h: frames */
	bool has_last;                                  /* it has ended, and they are to be had */
};

/* A fresh one with a random id, STARTING. NULL without memory or randomness. */
struct session *session_new(struct control *control, uint32_t uid);
/* The same of one that there is already. */
struct session *session_new_adopted(struct control *control, uint32_t uid, const char *id);
/* An empty ENDED one, without anything of libuv's, for history_read(). NULL without memory. */
struct session *session_new_from_history(struct control *control, const char *id);
/* Keeps the arguments as listings show them: cut after SESSION_ARGV_MAX bytes. 0 or -ENOMEM. */
int session_set_argv(struct session *s, const char *const *argv);
/* Closes what is open; freed once its handles are closed. */
void session_release(struct session *s);

/* Sends the plan to isod. The session takes client over only on success. 0 or -errno with *e. */
/* fds: as of CONTROL_START. */
int session_start(struct session *s, struct connection *client, const int *fds, size_t n_fds, unsigned control_flags,
		  struct error *e);

/* It has begun, and whoever has started it knows: limits of time count, isod keeps it. */
void session_begin(struct session *s);

/* From isod. */
int session_on_started(struct session *s, int link_fd);
void session_on_failed(struct session *s, const struct error *e);
void session_on_ended(struct session *s, enum exit_kind kind, int32_t value);
/* Told before it is started. 0, -EBADMSG. */
int session_on_port(struct session *s, uint16_t host, uint16_t inside);
/* From isod-session. */
void session_on_exited(struct session *s, enum exit_kind kind, int32_t value);

/* Ends the whole tree. Idempotent. */
void session_kill(struct session *s, enum session_cause cause);
/* isod-control ends: what is still to be written about it is written. isod ends the processes. */
void session_abandon(struct session *s);
/* The client's connection is gone. */
void session_on_hang_up(struct session *s);
/* Clients that are attached, the one that started it too while it waits. */
unsigned session_count_clients(const struct session *s);
bool session_is_driven(const struct session *s);
/* Attach leads to something: the session itself, or what it showed last. */
bool session_is_attachable(const struct session *s);
/* What is new in the audit file: readers that follow it are told. */
void session_log_changed(struct session *s);

/* The exit code that `isoctl run` returns: design 7. */
int session_exit_code(enum exit_kind kind, int32_t value);
const char *session_state_name(enum session_state state);

#endif
