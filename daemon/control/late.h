#ifndef ISOD_CONTROL_LATE_H
#define ISOD_CONTROL_LATE_H
/* Files that appear after the start of a session: what of it is enforced, and what is told at the end of a run. */
#include <stdint.h>

#include "base/error.h"
#include "daemon/control/string_list.h"
#include "daemon/wire/late.h"

struct control;
struct json_writer;
struct plan;
struct session;

/* Paths of either kind kept of one running session for its end, and their bytes; the first of each class is kept in any
 * case. The audit log has more. */
#define LATE_PATHS_MAX 64
#define LATE_BYTES_MAX (32U << 10)
/* Of what it lacks; kept in the history, too. */
#define LATE_LACKING_BYTES_MAX (16U << 10)

struct session_late {
	uint32_t way; /* enum late_way, as pid 1 has told it; LATE_WAY_UNSET before */
	uint32_t reason;
	struct string_list planted; /* made inside: protected, runs or steers something on the host */
	struct string_list runs;    /* made inside: not protected, usually run on the host */
	uint32_t classes;           /* of which one is kept, as bits */
	size_t bytes;               /* of both */
	uint64_t more;              /* others of either kind */
	struct string_list lacking; /* sentences: what the session does not enforce, or not in the usual way */
	size_t lacking_bytes;
};

void late_done(struct session_late *late);
/* The paths alone: an ended session is still asked what it lacked. */
void late_done_paths(struct session_late *late);

/* "refused" or "reported": what happens to a secret file that appears later. */
const char *late_state_name(uint32_t way);
/* A sentence, or NULL where nothing is lacking. */
const char *late_reason_text(uint32_t way, uint32_t reason);

/* Of this machine and this plan together: an error where the plan requires more, else a note in *notes where less is
 * enforced than could be. 0 or -errno. */
int late_check(const struct control *c, const struct plan *plan, struct string_list *notes, struct error *e);

/* From isod-session; checked by late_event_is_valid(). Writes it to the audit log, too. */
void late_on_event(struct session *s, const struct late_event *event);

/* Keeps a sentence for late_write_state(), within a bound. */
void late_add_lacking(struct session_late *late, const char *text);

/* As the log has it: late and lateReason of late_write_state(). What it cannot be made of leaves the state not known.
 */
void late_restore_state(struct session_late *late, const char *state, const char *reason);

/* Members of a session: late, lateReason, lacking. */
void late_write_state(const struct session *s, struct json_writer *w);
/* Members of the last reply of a run: made, madeMore. */
void late_write_made(const struct session *s, struct json_writer *w);

#endif
