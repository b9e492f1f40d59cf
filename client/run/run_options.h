#ifndef ISOD_CLIENT_RUN_OPTIONS_H
#define ISOD_CLIENT_RUN_OPTIONS_H
/* What `run` is asked for on its command line. */
#include "client/options.h"

enum run_tty { RUN_TTY_AUTO = 0, RUN_TTY_ALWAYS, RUN_TTY_NEVER };

struct run_options {
	struct option_list allow_read;
	struct option_list allow_write;
	struct option_list allow_domain;
	struct option_list deny_domain;
	const char *on_unlisted;
	struct option_list publish;     /* [HOSTPORT:]PORT */
	struct option_list host_port;   /* PORT */
	struct option_list unix_socket; /* PATH */
	struct option_list environment; /* NAME or NAME=VALUE */
	struct option_list policy;
	const char *memory;
	const char *pids;
	const char *cpus;
	const char *time;
	const char *name;
	const char *record; /* FILE */
	int record_input;
	int detach;
	const char *detach_keys;
	int nesting;
	int overlay;
	int tty; /* enum run_tty */
	int quiet;
};

#endif
