#include "base/sanitizer.h"
#include "daemon/launch/launch.h"

/* What is read for a start lives until the exec or the end: nothing is freed. Later no process here may be traced. */
SANITIZER_NO_LEAK_CHECK

int main(void)
{
	struct launch launch = LAUNCH_INIT;

	return launch_outer_main(&launch);
}
