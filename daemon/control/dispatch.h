#ifndef ISOD_CONTROL_DISPATCH_H
#define ISOD_CONTROL_DISPATCH_H
/* From one message to its handler, by table: envelope, method, what the call may bring, parameters. */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "daemon/control/connection.h"
#include "proto/varlink.h"

struct call {
	const struct varlink_call *envelope;
	int *fds; /* the caller's, open during the call only; a handler that keeps one duplicates it */
	size_t n_fds;
};

/*
 * parameters: the method's struct of proto/schema.h. 0: answered, or the connection is busy until the answer comes.
 * -errno with *e filled: the dispatcher sends the error.
 */
typedef int (*method_fn)(struct connection *c, const struct call *call, const void *parameters, struct error *e);

/* text without its NUL. more_input: bytes of the client follow already. */
void dispatch_message(struct connection *c, const char *text, size_t len, int *fds, size_t n_fds, bool more_input);

int method_get_info(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_get_interface_description(struct connection *c, const struct call *call, const void *parameters,
				     struct error *e);
int method_run(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_attach(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_wait(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_list(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_show(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_log(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_log_verify(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_layers(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_layer(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_discard(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_exec(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_kill(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_policy_show(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_policy_reload(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_pending(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_answer(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_grant(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_revoke(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_policy_test(struct connection *c, const struct call *call, const void *parameters, struct error *e);
int method_status(struct connection *c, const struct call *call, const void *parameters, struct error *e);

#endif
