/*
 * Stage "outer". Root in the host's namespaces, started by isod.
 *   keeps      root, for the mount calls; the host's view, for the sources.
 *   gives up   every descriptor that it was not meant to have; itself, once pid 1 exists.
 *   must not   open a path of the plan with any rights but the caller's; write anything into the host's file system
 *              outside the session's own scratch folder; wait for anybody.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_input.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/view/launch_etc.h"
#include "daemon/linux/view/launch_match.h"
#include "daemon/linux/view/launch_overlay.h"
#include "daemon/linux/net/launch_publish.h"
#include "daemon/linux/net/launch_reach.h"
#include "daemon/linux/net/launch_unix.h"
#include "daemon/linux/view/launch_source.h"
#include "daemon/linux/launch/launch_spawn.h"
#include "daemon/wire/fds.h"

static const struct launch_step steps[] = {
	{ "descriptors", launch_input_descriptors },
	{ "context", launch_input_context },
	{ "plan", launch_input_plan },
	{ "filters", launch_input_filters },
	{ "cgroups", launch_input_cgroups },
	{ "limits", launch_input_limits },
	{ "published ports", launch_publish_listen },
	{ "rules", launch_match_rules },
	{ "open sources", launch_source_open },
	{ "matches of patterns", launch_match_find },
	{ "links to grants", launch_reach_others },
	{ "unix sockets", launch_unix_begin },
	{ "clone sources", launch_source_clone },
	{ "etc overlay", launch_etc_open },
	{ "layers", launch_overlay_make },
	{ "scratch folders", launch_source_scratch },
	{ "own descriptors", launch_source_own },
};

int launch_outer_main(struct launch *l)
{
	struct error e = ERROR_INIT;
	pid_t pid;
	int r = launch_step_run(steps, ARRAY_SIZE(steps), l, &e);

	if (r < 0) {
		launch_report_failed(LAUNCH_FD_REPORT, &e);
		return LAUNCH_EXIT_FAILED;
	}
	pid = launch_spawn_init(l, &e);
	if (pid < 0) {
		launch_report_failed(LAUNCH_FD_REPORT, &e);
		return LAUNCH_EXIT_FAILED;
	}
	if (pid == 0)
		return launch_init_main(l);
	/* pid 1 is isod's own child and goes on whatever happens here. */
	return launch_report_pid(LAUNCH_FD_REPORT, pid) < 0 ? LAUNCH_EXIT_FAILED : 0;
}
