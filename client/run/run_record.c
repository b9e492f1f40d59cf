#include "client/run/run_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/escape.h"
#include "client/replay/record_store.h"

#define FLAGS (O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC)

static int cannot(const char *path, int err, struct error *e)
{
	return error_set(e, ERROR_INVALID, err, "record",
			 err == EEXIST ? "Name one that is not there yet, or remove it." : "Name another place.",
			 "The recording %s cannot be made: %s.", path, strerror(err));
}

/* Whether path lies in the project, both without links. */
static bool is_inside(const char *path, const char *project)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	size_t n = strlen(project);

	return real && strncmp(real, project, n) == 0 && real[n] == '/';
}

static int open_named(const char *file, const char *project, struct run_record *ret, struct error *e)
{
	ret->fd = open(file, FLAGS, 0600);
	if (ret->fd < 0)
		return cannot(file, errno, e);
	ret->path = strdup(file);
	if (!ret->path)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "record", NULL, "There is no memory left.");
	ret->inside = is_inside(file, project);
	return 0;
}

int run_record_open(const char *file, bool wanted, const char *project, struct run_record *ret, struct error *e)
{
	int r;

	if (file)
		return open_named(file, project, ret, e);
	if (!wanted)
		return 0;
	r = record_store_new(&ret->path);
	if (r < 0)
		return error_set(e, ERROR_INVALID, -r, "record", "Say: isoctl run --record FILE.",
				 "The policy wants a recording, and none can be made in the folder of recordings: %s.",
				 strerror(-r));
	ret->fd = r;
	ret->kept = true;
	return 0;
}

void run_record_say(const struct run_record *r, bool terminal, bool quiet)
{
	if (r->fd < 0 || quiet)
		return;
	if (!terminal)
		fputs("isoctl: without a terminal the recording has no output, only what was decided\n", stderr);
	if (!r->inside)
		return;
	fputs("isoctl: the session can change its recording, which lies in its project: ", stderr);
	escape_print(stderr, r->path);
	fputc('\n', stderr);
}

void run_record_started(struct run_record *r, const char *session)
{
	if (!r || r->fd < 0)
		return;
	r->started = true;
	if (r->kept)
		record_store_name(r->path, session);
}

void run_record_done(struct run_record *r)
{
	if (r->fd >= 0 && !r->started && r->path)
		(void)unlink(r->path);
	r->fd = fd_close(r->fd);
	free(r->path);
	r->path = NULL;
}
