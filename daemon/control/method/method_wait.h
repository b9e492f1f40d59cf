#ifndef ISOD_CONTROL_METHOD_WAIT_H
#define ISOD_CONTROL_METHOD_WAIT_H
/* Calls of Wait that have no answer yet: the list is the session's, each connection is in one at most. */
struct connection;
struct error;
struct session;

/* The session has ended, or with e never began. */
void wait_answer(struct session *s, const struct error *e);
/* The connection is gone. */
void wait_leave(struct connection *c);

#endif
