#ifndef ISOD_CONTROL_LAYER_CALL_H
#define ISOD_CONTROL_LAYER_CALL_H
/* Calls about kept layers: asked of isod, which alone knows them, and answered when it has. */
#include <stddef.h>

struct control;
struct control_message;

enum layer_call { LAYER_CALL_NONE, LAYER_CALL_LIST, LAYER_CALL_OPEN, LAYER_CALL_DISCARD };

/* CONTROL_LAYER. Takes descriptors out of fds. -EBADMSG for what does not fit. */
int layer_call_answered(struct control *c, const struct control_message *m, int *fds, size_t n_fds);

#endif
