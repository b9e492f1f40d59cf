#ifndef ISOD_CLIENT_RUN_H
#define ISOD_CLIENT_RUN_H
/* A run in progress, as its two ways (pipes, terminal) share it. */
#include <stdbool.h>

#include "client/call.h"
#include "client/run/made.h"
#include "client/run/run_record.h"
#include "client/run/run_environment.h"

struct detach_keys;

struct run {
	const struct client *client;
	const struct run_environment *environment; /* for the banner */
	const struct detach_keys *keys;
	bool quiet;
	bool attaches; /* the call is Attach: the session was there before, and goes on */
	bool watches;  /* to look on was asked for */
	int agents[3]; /* come last of the descriptors: sockets to agents, the file of the recording */
	size_t n_agents;
	struct call call; /* Run; finished, not sent yet */
	char session[ISOD_ID_LEN + 1];
	int64_t exec;  /* the number of a command that was added to it; 0: the session is this run's own */
	char *project; /* of the session, in the tree form of json/bytes.h */
	struct made made;
	struct run_record *record;
};

/* The first reply: remembers the session and shows the banner. 0, or -errno with *e filled. */
int run_started(struct run *run, struct error *e);

/* Says at the end what the run has made that runs on the host later, and frees what run_started() kept. */
void run_finished(struct run *run);

/* Both send the call and return the exit code of isoctl; failures are reported by them. */
int run_pipes(struct run *run);
int run_terminal(struct run *run);
/* Starts the session and leaves it: says its id on stdout. */
int run_detached(struct run *run, bool terminal);

#endif
