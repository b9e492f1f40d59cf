#include "daemon/launch/launch.h"

int main(void)
{
	struct launch launch = LAUNCH_INIT;

	return launch_outer_main(&launch);
}
