#include <signal.h>

#include "client/command.h"
#include "client/report.h"
#include "client/standard_fds.h"

int main(int argc, char **argv)
{
	if (standard_fds_open() < 0)
		return EXIT_ISOD;
	signal(SIGPIPE, SIG_IGN);
	return standard_fds_finish(command_main(argc, argv));
}
