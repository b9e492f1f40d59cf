#ifndef ISOD_CONTROL_SESSION_LAST_H
#define ISOD_CONTROL_SESSION_LAST_H
/*
 * What a session showed last, where nobody saw it: the screen, or the end of its output. It may hold what nobody wanted
 * on a disk, so it is kept in memory alone: until its owner has read it, newer ones of the same user push it out, a day
 * is over, or isod-control ends.
 */
#include <stddef.h>

struct connection;
struct session;
struct session_last;

/* A piece from isod-session. 0, -EBADMSG. */
int session_last_add(struct session *s, const struct session_last *piece, size_t n);
/* Frames for a client of a session that has ended: what is kept, then EXIT; then the connection is closed. What its
 * owner has read is forgotten. */
void session_last_send(struct session *s, struct connection *c);
void session_last_forget(struct session *s);
/* The session has ended: makes room for what it left. */
void session_last_trim(struct session *s);

#endif
