#ifndef ISOD_CLIENT_RELOAD_H
#define ISOD_CLIENT_RELOAD_H
/* A running session and the policy files of its user as they are now. */
#include "client/call.h"
#include "client/options.h"

/* What Show says of it, valid as long as call. session: id or name. NULL with *e. */
const struct json_value *reload_find(const struct client *client, const char *session, struct call *call,
				     struct error *e);
/* Its project, on the heap; NULL without memory. */
char *reload_project(const struct json_value *session);

/* Puts the files in force in it, those of its project among them. files: of --policy, NULL: those of before. The reply
 * is in call. 0 or -errno with *e. */
int reload_session(const struct client *client, const char *session, const struct option_list *files, struct call *call,
		   struct error *e);

#endif
