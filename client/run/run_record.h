#ifndef ISOD_CLIENT_RUN_RECORD_H
#define ISOD_CLIENT_RUN_RECORD_H
/*
 * The file into which a session is recorded: made here, as the user; isod is given the open file and no path. With
 * --record FILE a new one of that name; where a policy alone wants one, ID.cast in the user's own folder of recordings
 * (record_store.h), where no session can write.
 */
#include <stdbool.h>

#include "base/error.h"

struct run_record {
	int fd;       /* -1: nothing is recorded */
	char *path;   /* of the file now */
	bool kept;    /* in the folder of recordings, under a name that waits for the session's id */
	bool inside;  /* the session can write it, too */
	bool started; /* else the file goes */
};

#define RUN_RECORD_INIT                                                                                                \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* file: NULL without --record; wanted: by the policy. 0 or -errno with *e. */
int run_record_open(const char *file, bool wanted, const char *project, struct run_record *ret, struct error *e);
/* What is worth knowing of it, on stderr. */
void run_record_say(const struct run_record *r, bool terminal, bool quiet);
/* The session runs: the file is its own. r may be NULL. */
void run_record_started(struct run_record *r, const char *session);
void run_record_done(struct run_record *r);

#endif
