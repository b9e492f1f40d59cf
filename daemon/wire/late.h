#ifndef ISOD_WIRE_LATE_H
#define ISOD_WIRE_LATE_H
/*
 * Files that appear after the start of a session: what pid 1 sees of them, passed on by isod-session (LINK_LATE) to
 * isod-control (SESSION_LATE). One packet of variable length. The path is chosen by the agent or the host: bytes, no
 * NUL, never parsed, escaped by whoever writes it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

/* What keeps a secret file unreadable that was not there at the start. */
enum late_way {
	LATE_WAY_UNSET,
	LATE_WAY_NONE,     /* nothing; it is reported at best */
	LATE_WAY_FANOTIFY, /* each open below a granted folder is answered by pid 1 */
	LATE_WAY_KERNEL,   /* a program in the kernel refuses, the making of protected paths as well */
	LATE_WAY_NO_NEED,  /* no rule is about a file that could still appear */
	LATE_WAY_END
};

/* Why not better. */
enum late_reason {
	LATE_REASON_NONE,
	LATE_REASON_KERNEL,  /* no fanotify permission events in this kernel */
	LATE_REASON_NESTING, /* a mount namespace made inside escapes the marks */
	LATE_REASON_LIMIT,   /* fs.fanotify.max_user_groups is reached */
	LATE_REASON_FAILED,
	LATE_REASON_END
};

enum late_kind {
	LATE_STATE = 1,     /* once, before the program runs: way, reason */
	LATE_REFUSED,       /* a secret file was opened inside: refused */
	LATE_PLANTED,       /* made inside: a protected path, which runs or steers something on the host later */
	LATE_RUNS,          /* made inside: not protected, but usually run on the host */
	LATE_MOVED,         /* a secret file was given another name inside */
	LATE_UNPROTECTED,   /* made or replaced on the host: a protected path that this session does not lock */
	LATE_MORE,          /* count others that were not told one by one */
	LATE_LOST,          /* the kernel dropped events: what was made may be incomplete */
	LATE_LACKING,       /* reason: what of the plan this session does not enforce, or not in the usual way */
	LATE_PLANT_REFUSED, /* a protected path would have been made, changed or moved inside: refused by the kernel */
	LATE_KIND_END
};

/* What a session lacks, before its program runs. Up to the search only where the administrator's policy allows it
 * (PLAN_DEGRADED). */
enum late_lack {
	LATE_LACK_LAYER = 1,      /* path: no layer over it can be made, so it is read-only */
	LATE_LACK_DEVICE,         /* path: not there, or not for the caller */
	LATE_LACK_SEARCH,         /* count folders were not searched for what the rules protect */
	LATE_LACK_SEARCH_LOCKS,   /* the same, but opens of secrets there are refused */
	LATE_LACK_SEARCH_NOTHING, /* the same, and so are writes to what must not be written */
	LATE_LACK_WATCH,          /* count granted folders are not watched */
	LATE_LACK_LINK,           /* path: protected under this name, but it has others */
	LATE_LACK_LINKS,          /* count more of these */
	LATE_LACK_CASELESS,       /* path: names have no case there, so that the kernel's guard is not used */
	LATE_LACK_END
};

#define LATE_PROGRAM_MAX 128

struct late_event {
	uint32_t type;   /* LINK_LATE or SESSION_LATE */
	uint32_t kind;   /* enum late_kind */
	uint32_t way;    /* LATE_STATE: enum late_way */
	uint32_t reason; /* LATE_STATE: enum late_reason; LATE_LACKING: enum late_lack */
	uint32_t group;  /* enum protect_group of the rule, 0 = one of the policy's */
	int32_t pid;     /* of the session, 0 = a process of the host, -1 = not known */
	uint32_t count;  /* LATE_MORE, LATE_LACKING */
	uint32_t path_len;
	char program[LATE_PROGRAM_MAX]; /* terminated; "" = not known */
	char path[LIMIT_PATH];          /* path_len bytes of it are sent */
};

#define LATE_EVENT_HEAD offsetof(struct late_event, path)

static inline size_t late_event_size(const struct late_event *e)
{
	return LATE_EVENT_HEAD + e->path_len;
}

/* What is bounded is bounded by class, so that a flood of one hides no other: each protection that something was made
 * under, what usually runs, refusals and renames, what the host did, counts. Below LATE_CLASSES. */
#define LATE_CLASSES 32
uint32_t late_event_class(uint32_t kind, uint32_t group);

/* n: bytes received. Everything but .type is checked. */
bool late_event_is_valid(const struct late_event *e, size_t n);

/* A valid LATE_LACKING as a sentence; it holds the bytes of the path. */
#define LATE_LACK_TEXT_MAX (LIMIT_PATH + 256)
void late_lack_text(const struct late_event *e, char ret[LATE_LACK_TEXT_MAX]);

#endif
