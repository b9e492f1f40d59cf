#ifndef ISOD_MONITOR_LAYER_CALL_H
#define ISOD_MONITOR_LAYER_CALL_H
/* What isod-control asks about kept layers. Whose they are is held against the connection's peer, not the message. */
#include <stddef.h>

struct monitor;
struct control_message;
struct session;

/*
 * Each answers by CONTROL_LAYER. 0, or -EPROTO for what cannot be meant. What needs an ended session waits a moment for
 * one that has not: the client hears of the program's end before isod does, and may be quick with its next command.
 */
int layer_call_list(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int layer_call_open(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int layer_call_discard(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
/* session_is_over(): what waited for that is answered. */
void layer_call_session_over(struct session *s);

#endif
