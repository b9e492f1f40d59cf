#ifndef ISOD_CONTROL_CALLER_H
#define ISOD_CONTROL_CALLER_H
/* Who a session is for: the uid that the kernel told isod, and what the system's user database says about it. */
#include <stdint.h>

#include "base/error.h"
#include "daemon/control/string_list.h"

struct caller {
	uint32_t uid;
	uint32_t gid;
	const char *name;  /* the number where the uid has no entry */
	const char *home;  /* absolute and clean; a folder of the view's own where passwd names none that can be used */
	const char *shell; /* /bin/sh where there is none */
	struct string_list texts;
};

#define CALLER_INIT                                                                                                    \
	{                                                                                                              \
		.texts = STRING_LIST_INIT                                                                              \
	}

/* Asks NSS, in the loop: a directory service that is slow to answer holds up every client, not only the caller. A uid
 * without an entry is no error. 0 or -errno with *e. */
int caller_look_up(uint32_t uid, uint32_t gid, struct caller *ret, struct error *e);
/* The same from values, for tests. home and shell may be NULL. */
int caller_set(struct caller *ret, uint32_t uid, uint32_t gid, const char *name, const char *home, const char *shell);
void caller_done(struct caller *c);
#define _cleanup_caller_ __attribute__((cleanup(caller_done)))

#endif
