#include "base/sanitizer.h"
#include "daemon/launch/launch.h"
#include "daemon/launch/launch_join.h"

/* What is read for a start lives until the exec or the end: nothing is freed. Later no process here may be traced. */
SANITIZER_NO_LEAK_CHECK

/* Any argument at all: join the session of the descriptors. */
int main(int argc, char **argv)
{
	struct launch launch = LAUNCH_INIT;

	return argc > 1 ? launch_join_main(&launch) : launch_outer_main(&launch);
}
