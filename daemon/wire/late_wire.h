#ifndef ISOD_WIRE_LATE_WIRE_H
#define ISOD_WIRE_LATE_WIRE_H
/* isod-late -> isod: one packet, and that is all it ever says. */
#include <stdint.h>

#include "base/error.h"

enum late_guard_fd { LATE_FD_ANSWER = 3 /* SOCK_SEQPACKET to isod */ };

/* Descriptors that come with a good answer, in this order. */
enum late_answer_fd { LATE_ANSWER_SESSIONS, LATE_ANSWER_EVENTS, LATE_ANSWER_FOLDERS, LATE_ANSWER_FDS };

struct late_answer {
	struct error error; /* .code ERROR_NONE: the programs are attached, pinned and were seen to refuse */
};

#endif
