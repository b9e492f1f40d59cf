#ifndef TESTS_LAUNCH_DRIVER_H
#define TESTS_LAUNCH_DRIVER_H
/* Plays isod and isod-session for one start of the real isod-launch: a small view, an empty nft table, a filter that
 * allows everything. Needs root. Every function asserts (cmocka) where the test itself cannot go on. */
#include <sys/types.h>

#include "daemon/wire/context.h"
#include "daemon/wire/link_wire.h"
#include "daemon/wire/plan.h"
#include "daemon/wire/report.h"

#define DRIVER_UID 12345
#define DRIVER_NET_UID 12346
#define DRIVER_MOUNTS_MAX 32
#define DRIVER_OUTPUT_MAX 65536

struct driver {
	/* what to start; driver_init() fills in a whole session, a test changes what it is about */
	struct plan plan;
	struct plan_mount mounts[DRIVER_MOUNTS_MAX];
	uint32_t group; /* supplementary, where context.n_groups is 1 */
	const void *ruleset;
	size_t ruleset_len;
	const void *filter; /* NULL: allow all */
	size_t filter_len;
	int stdin_fd; /* instead of a pipe, or -1 */
	int spare_fd; /* given to the launcher as descriptor 40, or -1 */

	/* folders made for this test */
	char project[64];
	char scratch[64];
	char layer[64]; /* of the test's own making; empty: none is kept */
	char etc[64];

	/* the started one */
	pid_t outer;
	pid_t pid1; /* from REPORT_PID1 */
	int report;
	int link;
	int input;
	int output;
	int pty; /* from LINK_PTY */
	int listeners[LISTENER_COUNT];
	struct error error; /* from REPORT_FAILED */
	char text[DRIVER_OUTPUT_MAX];
	/* Every LINK_LATE that came before what driver_link() waited for: "KIND GROUP here|host|unknown PATH\n", or
	 * "STATE WAY REASON", "LACKING WHAT COUNT PATH", "MORE COUNT", "LOST". */
	char late[DRIVER_OUTPUT_MAX];

	struct launch_context context; /* last: what may follow it does not here */
};

void driver_init(struct driver *d, const char *const *argv);
struct plan_mount *driver_mount(struct driver *d, uint32_t type, uint32_t flags, const char *source,
				const char *target);
void driver_start(struct driver *d);
/* Reads reports up to end of file: 0 = exec succeeded, 1 = d->error is filled. */
int driver_report(struct driver *d);
/* Next message of that type; those before it are dropped, descriptors kept. */
void driver_link(struct driver *d, uint32_t type, struct link_message *ret);
void driver_send(struct driver *d, const struct link_message *message);
/* Everything that comes out until end of file, terminated, in d->text. */
void driver_output(struct driver *d);
/* All of it for a program that ends by itself: its exit message. */
void driver_run(struct driver *d, struct link_message *ret);
/* Waits for both processes; nothing of the session is left afterwards. */
void driver_done(struct driver *d);

#endif
