#ifndef ISOD_CLIENT_BANNER_H
#define ISOD_CLIENT_BANNER_H
/* The line on stderr that says where a command runs and what was opened for it. */
#include "base/buffer.h"
#include "client/run/run_environment.h"
#include "json/value.h"

/* started: parameters of Run's first reply. Appends whole lines; foreign text is escaped. 0 or -errno. */
int banner_format(const struct json_value *started, const struct run_environment *environment, struct buffer *out);

#endif
