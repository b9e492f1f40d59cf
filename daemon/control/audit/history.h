#ifndef ISOD_CONTROL_HISTORY_H
#define ISOD_CONTROL_HISTORY_H
/* Ended sessions of earlier runs, read back from their audit files. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "daemon/control/audit/audit.h"

struct control;
struct session;

/* Files looked at in one scan: bounds the time; the newest ones. */
#define HISTORY_MAX 2000

struct history_item {
	char id[ISOD_ID_LEN + 1];
	long long changed; /* time of the last write, ns */
	off_t size;
};

struct history_list {
	struct history_item *items; /* newest first */
	size_t count;
	size_t room;
};

/* What is in the audit folder, the newest max of it; an unreadable one gives an empty list. */
void history_scan(int dir_fd, size_t max, struct history_list *ret);
/* Whose file it is; UINT32_MAX, which is nobody, where it does not say. */
uint32_t history_read_uid(int dir_fd, const char *id);
void history_list_done(struct history_list *l);

/* One session out of its first and last line. NULL where there is none, or it never ran. */
struct session *history_read(struct control *control, const char *id);

#endif
