/*
 * isod-late TAG: started by isod at its own start, as root. Loads the kernel's side of the late guard, proves that it
 * works, hands over its maps, and ends. The only program that links libbpf.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd_pass.h"
#include "base/log.h"
#include "daemon/late/late_load.h"
#include "daemon/late/late_try.h"
#include "daemon/linux/late/late_pins.h"
#include "daemon/wire/late_wire.h"

int main(int argc, char *argv[])
{
	struct late_answer answer = { .error = ERROR_INIT };
	struct late_loaded loaded = { -1, -1, -1 };
	int fds[LATE_ANSWER_FDS];
	char pins[64];
	int r;

	log_open("isod-late", LOG_LEVEL_INFO);
	if (argc != 2) {
		log_error("isod starts this program, with its tag");
		return 2;
	}
	late_pins_path(argv[1], pins, sizeof(pins));
	r = late_load(pins, &loaded, &answer.error);
	if (r == 0) {
		r = late_try(&loaded, &answer.error);
		if (r < 0)
			late_pins_remove(pins);
	}
	fds[LATE_ANSWER_SESSIONS] = loaded.sessions;
	fds[LATE_ANSWER_EVENTS] = loaded.events;
	fds[LATE_ANSWER_FOLDERS] = loaded.folders;
	r = fd_pass_send(LATE_FD_ANSWER, &answer, sizeof(answer), fds, r == 0 ? LATE_ANSWER_FDS : 0) < 0;
	if (r)
		late_pins_remove(pins);
	return r;
}
