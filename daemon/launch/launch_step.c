#include "daemon/launch/launch_step.h"

#include <stdio.h>
#include <string.h>

int launch_step_run(const struct launch_step *steps, size_t n, struct launch *launch, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		int r = steps[i].run(launch, e);

		if (r >= 0)
			continue;
		launch_step_fail(e, -r, NULL, "The step \"%s\" failed: %s.", steps[i].name, strerror(-r));
		if (!e->step[0])
			snprintf(e->step, sizeof(e->step), "%s", steps[i].name);
		return r;
	}
	return 0;
}
