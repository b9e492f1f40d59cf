#ifndef ISOD_CLIENT_MADE_H
#define ISOD_CLIENT_MADE_H
/* What a run has made that runs or steers something on the host later, and what its session did not enforce: said at
 * its end, so that nobody runs it unseen. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "json/value.h"

struct made {
	struct buffer planted; /* paths, each with its NUL: plain bytes or the tree form of json/bytes.h */
	struct buffer runs;
	struct buffer lacking; /* sentences of the session, the same way */
	uint64_t more;
};

/* Far above what isod names. */
#define MADE_MAX (1U << 20)
#define MADE_INIT                                                                                                      \
	{                                                                                                              \
		.planted = BUFFER_INIT(MADE_MAX), .runs = BUFFER_INIT(MADE_MAX), .lacking = BUFFER_INIT(MADE_MAX)      \
	}

void made_done(struct made *m);
void made_add(struct made *m, bool is_protected, const char *path, size_t len);
void made_add_lacking(struct made *m, const char *text, size_t len);
/* From the last reply of Run: made, madeMore, what the session lacks. */
void made_add_reply(struct made *m, const struct json_value *reply);

/* For people; nothing where nothing was made. Paths below project are shown from there. 0 or -errno. */
int made_format(const struct made *m, const char *project, const char *session, struct buffer *out);

#endif
