#ifndef ISOD_MONITOR_LAYER_CALL_H
#define ISOD_MONITOR_LAYER_CALL_H
/* What isod-control asks about kept layers. Whose they are is held against the connection's peer, not the message. */
#include <stddef.h>

struct monitor;
struct control_message;

/* Each answers by CONTROL_LAYER. 0, or -EPROTO for what cannot be meant. */
int layer_call_list(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int layer_call_open(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);
int layer_call_discard(struct monitor *m, const struct control_message *message, const int *fds, size_t n_fds);

#endif
