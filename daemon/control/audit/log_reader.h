#ifndef ISOD_CONTROL_LOG_READER_H
#define ISOD_CONTROL_LOG_READER_H
/* One Log call: reads a session's audit file as fast as its client reads, and follows it where asked. */
#include <stdbool.h>
#include <sys/queue.h>

#include "base/buffer.h"

struct connection;
struct session;

/* What lines are wanted; all zero: all. */
struct log_filter {
	int64_t since, until; /* timestamp.h, 0 = no bound */
	bool denied;
	const char *host;    /* without a "*." before it; NULL, as is the next */
	bool below;          /* names below .host are wanted, too */
	const char *program; /* its name, without folders */
};

struct log_reader {
	LIST_ENTRY(log_reader) entry;  /* session.readers */
	struct session *session;       /* NULL once it is over */
	struct connection *connection; /* NULL once it is gone */
	int fd;
	bool follow;
	bool running;       /* in log_reader_pump() */
	struct buffer in;   /* read, not yet a whole line */
	struct buffer held; /* one line: the last one must say that it is the last */
	bool has_held;
	char since[32], until[32]; /* times as they stand in lines, "" = no bound */
	bool denied;
	char *host, *program;
	uint64_t *keys; /* further files, by their ids as numbers */
	size_t n_keys, next_key;
};

/* Takes fd over, also on failure. 0 or -errno. The connection is busy until the last line. */
int log_reader_new(struct connection *c, struct session *s, int fd, bool follow, const struct log_filter *filter);
/* The same, through all files in which there may be such lines and that the caller may see, the oldest first. */
int log_reader_new_over_all(struct connection *c, const struct log_filter *filter);
/* Sends what there is and the client takes. */
void log_reader_pump(struct log_reader *r);
/* The connection is gone; NULL is allowed. Freed by log_reader_free(). */
void log_reader_detach(struct log_reader *r);
void log_reader_free(struct log_reader *r);

/* Of a session: there are new lines; it is freed. */
void log_readers_wake(struct session *s);
void log_readers_detach(struct session *s);

#endif
