#ifndef ISOD_CONTROL_HISTORY_H
#define ISOD_CONTROL_HISTORY_H
/* Ended sessions of earlier runs, read back from their audit files. */
struct control;
struct session;

/* Ended ones that are read into memory: bounds the time; the newest ones. */
#define HISTORY_MAX 2000

/* One session out of its first and last line. NULL where there is none, or it never ran. */
struct session *history_read(struct control *control, const char *id);

#endif
