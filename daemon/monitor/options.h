#ifndef ISOD_MONITOR_OPTIONS_H
#define ISOD_MONITOR_OPTIONS_H
/* The command line of isod. The strings are argv's or static. */
#include <stdbool.h>

struct options {
	const char *socket; /* NULL: isod.sock in run_dir */
	const char *run_dir;
	const char *state_dir;
	const char *config_dir;
	const char *libexec;
	const char *user;
	const char *net_user;
	int ready_fd; /* -1 = none */
	bool version;
	bool help;
};

extern const char options_usage[];

/* 0, or -EINVAL with one sentence in complaint. */
int options_parse(int argc, char *const argv[], struct options *ret, char *complaint, unsigned size);

#endif
